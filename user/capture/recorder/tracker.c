/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/tracker: see tracker.h. */
#include "recorder/tracker.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "target/proc.h"
#include "target/select.h"
#include "target/sideband.h"
#include "target/translator.h"

/* Delay from the first report about a process until it is inspected. */
#define QUIET_NS 10000000ull
/* Interval of scans if the kernel sends no reports. */
#define RESCAN_NS 250000000ull
#define UNSEEN_MAX 8192
/*
 * Maximum number of processes with links of their own. The cost of attaching and detaching one grows with the number of
 * others on the same file: detaching 64, 128, 256 and 500 of them took 0.3, 0.6, 1.9 and 16 s.
 */
#define OWN_LINKS_MAX 128

/* Due times are even; the lowest bit: check whether the process is still wanted. */
#define RECHECK 1ull

enum preference { PREFERENCE_INCLUDED = 1, PREFERENCE_EXCLUDED = 2 };

struct tracker {
	const struct handles *h;
	struct tracker_ops ops;
	struct sideband *sideband;
	struct map due;        /* tgid -> when to inspect it */
	struct map parents;    /* child -> parent, until the child is added */
	struct map preference; /* tgid -> enum preference */
	struct map translated; /* tgid -> 1: runs under a translator */
	struct map unseen;     /* tgid -> 1: not to be added again: ended too early, refused for lack of room, or dropped */
	struct tracker_counts counts;
	uint64_t last_scan_ns;
	bool lost, refused;
	bool warned;   /* that too many processes have links of their own */
	char *program; /* our own executable, NULL = not known */
};

static struct proc_id find(const struct tracker *t, uint32_t tgid)
{
	return t->ops.find(t->ops.ctx, tgid);
}

static bool is_shared(const struct tracker *t)
{
	return t->ops.is_shared(t->ops.ctx);
}

/* In BPF every process is a target. */
static bool is_all(const struct tracker *t)
{
	return t->h->select && t->h->select->all;
}

static void set_due(struct tracker *t, uint32_t tgid, uint64_t recheck)
{
	uint64_t *due = map_put(&t->due, tgid);
	if (!due)
		t->lost = true;
	else if (!*due)
		*due = ((now_ns() + QUIET_NS) & ~RECHECK) | recheck;
	else
		*due |= recheck;
}

static void on_mapped(void *ctx, const struct report *report)
{
	struct tracker *t = ctx;
	if (t->h->select || find(t, report->tgid).n)
		set_due(t, report->tgid, 0);
	t->ops.report(t->ops.ctx, report);
}

static void split(struct tracker *t, uint32_t tgid, const char *name)
{
	log_warn("process %u runs under %s, and a shared probe would kill it: links are no longer shared, and children are "
		 "traced some milliseconds after they start",
		 tgid, name);
	if (is_shared(t))
		t->ops.split(t->ops.ctx);
}

static void on_translator(void *ctx, uint32_t tgid, const char *name)
{
	struct tracker *t = ctx;
	struct proc_id id = find(t, tgid);
	if (is_shared(t))
		split(t, tgid, name);
	if (id.n)
		t->ops.look(t->ops.ctx, id);
}

bool tracker_may_share(struct tracker *t)
{
	const char *name;
	uint32_t tgid = translator_search(&name);
	if (tgid)
		split(t, tgid, name);
	return !tgid;
}

static void on_lost(void *ctx)
{
	struct tracker *t = ctx;
	t->lost = true;
}

struct tracker *tracker_new(const struct handles *h, const struct tracker_ops *ops)
{
	struct tracker *t = calloc(1, sizeof(*t));
	struct proc_facts self;
	if (!t)
		return NULL;
	t->h = h;
	t->ops = *ops;
	if (!proc_read((uint32_t)getpid(), &self, NULL))
		t->program = strndup(self.exe, proc_exe_len(self.exe));
	return t;
}

void tracker_listen(struct tracker *t)
{
	struct sideband_ops ops = { .ctx = t, .on_mapped = on_mapped, .on_translator = on_translator, .on_lost = on_lost };
	struct err why = { 0 };
	t->sideband = sideband_open(&ops, &why);
	if (!t->sideband)
		log_info("%s: polling processes four times a second instead", why.text);
}

void tracker_free(struct tracker *t)
{
	if (!t)
		return;
	sideband_close(t->sideband);
	map_free(&t->due);
	map_free(&t->parents);
	map_free(&t->preference);
	map_free(&t->translated);
	map_free(&t->unseen);
	free(t->program);
	free(t);
}

int tracker_fd(const struct tracker *t)
{
	return t->sideband ? sideband_fd(t->sideband) : -1;
}

void tracker_include(struct tracker *t, uint32_t tgid)
{
	uint64_t *s = map_put(&t->preference, tgid);
	if (s)
		*s = PREFERENCE_INCLUDED;
}

void tracker_exclude(struct tracker *t, uint32_t tgid)
{
	uint64_t *s = map_put(&t->preference, tgid);
	if (s)
		*s = PREFERENCE_EXCLUDED;
}

bool tracker_is_excluded(const struct tracker *t, uint32_t tgid)
{
	const uint64_t *s = map_get(&t->preference, tgid);
	return s && *s == PREFERENCE_EXCLUDED;
}

/* Ourselves, our helpers, or the broker. */
bool tracker_is_own(uint32_t tgid)
{
	return tgid == (uint32_t)getpid() || proc_status_value(tgid, "PPid") == (long)getpid() ||
	       (rights_delegated() && tgid == (uint32_t)getppid());
}

/* Another process of our own program, such as a client at the socket; these are not traced. */
static bool is_program(const struct tracker *t, const char *exe)
{
	size_t n = proc_exe_len(exe);
	return t->program && *t->program && strlen(t->program) == n && !memcmp(t->program, exe, n);
}

static bool is_wanted(const struct tracker *t, uint32_t tgid)
{
	struct proc_facts f;
	const uint64_t *s = map_get(&t->preference, tgid);
	if (map_get(&t->translated, tgid))
		return false;
	if (s)
		return *s == PREFERENCE_INCLUDED;
	return t->h->select && select_may_want(t->h->select, tgid) && !proc_read(tgid, &f, NULL) &&
	       select_wants(t->h->select, tgid, &f) && !is_program(t, f.exe) && !tracker_is_own(tgid);
}

static bool is_refused(struct tracker *t)
{
	bool full = t->ops.is_full(t->ops.ctx);
	t->counts.refused += full;
	t->refused |= full;
	return full;
}

/* Drops a process of our own program that was added with its parent, or before it was inspected. */
static bool leave_program(struct tracker *t, uint32_t tgid)
{
	const char *exe = t->ops.exe(t->ops.ctx, tgid);
	if (!t->h->select || !exe || map_get(&t->preference, tgid) || !is_program(t, exe))
		return false;
	t->ops.drop(t->ops.ctx, tgid);
	if (is_all(t))
		t->ops.ignore(t->ops.ctx, tgid);
	return true;
}

/* There is room again: finds refused processes that still exist. */
static void take_refused(struct tracker *t)
{
	map_free(&t->unseen);
	t->lost = true;
	t->refused = false;
}

static void warn_of_many(struct tracker *t)
{
	if (t->warned || is_shared(t) || t->ops.count(t->ops.ctx) <= OWN_LINKS_MAX)
		return;
	log_warn("more than %d processes have links of their own, and detaching that many is slow: after `alys-bpf ctl off` and "
		 "`on` they share links, as with --follow",
		 OWN_LINKS_MAX);
	t->warned = true;
}

static void add(struct tracker *t, uint32_t tgid)
{
	struct err err = { 0 };
	t->counts.looked++;
	if (!is_refused(t) && t->ops.add(t->ops.ctx, tgid, &err) && err.code != ESRCH)
		log_at(err.code == ENOTSUP ? LOG_NORMAL : LOG_VERBOSE, "%s", err.text);
	if (err.code == ENOTSUP)
		map_put(&t->translated, tgid);
	warn_of_many(t);
}

/* Its last events, which may still be in the ring, must not add it again. */
static void leave(struct tracker *t, uint32_t tgid)
{
	t->ops.drop(t->ops.ctx, tgid);
	map_put(&t->unseen, tgid);
}

static void inspect_process(struct tracker *t, uint32_t tgid, bool recheck)
{
	struct proc_id id = find(t, tgid);
	const uint64_t *parent = map_get(&t->parents, tgid);
	/* An ended process cannot be inspected any more, and its exit record is still to come. */
	if (id.n && recheck && t->h->select && !is_wanted(t, tgid) && t->ops.has(t->ops.ctx, tgid))
		leave(t, tgid);
	else if (id.n)
		t->ops.look(t->ops.ctx, id);
	else if (parent && t->h->o->follow && find(t, (uint32_t)*parent).n)
		tracker_add_unknown(t, tgid);
	else if (is_wanted(t, tgid))
		add(t, tgid);
	else if (t->h->select && t->h->o->follow && !is_all(t))
		t->ops.ignore(t->ops.ctx, tgid); /* BPF added it with its parent */
	map_del(&t->parents, tgid);
}

/* What is due, in batches, because the table must not change during iteration. */
static size_t collect_due(struct tracker *t, uint64_t now, struct map_slot *out, size_t max, uint64_t *next)
{
	const struct map_slot *s;
	size_t n = 0;
	*next = 0;
	for (size_t i = 0; (s = map_next(&t->due, &i));) {
		if (s->value <= now && n < max)
			out[n++] = *s;
		else if (!*next || s->value < *next)
			*next = s->value;
	}
	return n;
}

struct found {
	uint32_t *at;
	size_t at_cnt, at_cap;
};

static int find_wanted(struct tracker *t, struct found *out, struct err *err)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	if (!dir)
		return err_set(err, errno, "cannot read /proc: %s", strerror(errno));
	while ((e = readdir(dir))) {
		uint32_t tgid = (uint32_t)strtoul(e->d_name, NULL, 10);
		bool wanted = tgid && !find(t, tgid).n && is_wanted(t, tgid);
		uint32_t *place = wanted ? VEC_PUSH(out, at) : NULL;
		if (place)
			*place = tgid;
	}
	closedir(dir);
	return 0;
}

int tracker_scan(struct tracker *t, struct err *err)
{
	struct found found = { 0 };
	int rc = t->h->select ? find_wanted(t, &found, err) : 0;
	/*
	 * Decided at the first scan, before any process has links: seen through two links, calls would be recorded
	 * twice.
	 */
	if (!t->last_scan_ns)
		t->ops.share(t->ops.ctx,
			     (t->h->o->follow || t->h->o->pids_cnt + found.at_cnt > OWN_LINKS_MAX) && tracker_may_share(t));
	for (size_t i = 0; i < found.at_cnt; i++)
		add(t, found.at[i]);
	free(found.at);
	t->last_scan_ns = now_ns();
	return rc;
}

static void rescan(struct tracker *t)
{
	if (is_shared(t))
		tracker_may_share(t);
	t->ops.look(t->ops.ctx, (struct proc_id){ 0 });
	tracker_scan(t, NULL);
	t->counts.rescans++;
	t->lost = false;
}

void tracker_read_reports(struct tracker *t)
{
	if (t->sideband)
		sideband_read(t->sideband);
}

int tracker_work(struct tracker *t)
{
	struct map_slot due[64];
	uint64_t next, now = now_ns();
	size_t n;
	if (t->refused && !t->ops.is_full(t->ops.ctx))
		take_refused(t);
	tracker_read_reports(t);
	if (t->lost || (!t->sideband && now - t->last_scan_ns >= RESCAN_NS))
		rescan(t);
	do {
		n = collect_due(t, now, due, sizeof(due) / sizeof(due[0]), &next);
		for (size_t i = 0; i < n; i++) {
			map_del(&t->due, due[i].key);
			inspect_process(t, (uint32_t)due[i].key, due[i].value & RECHECK);
		}
	} while (n == sizeof(due) / sizeof(due[0]));
	now = now_ns();
	if (next)
		return next > now ? (int)((next - now) / 1000000) + 1 : 0;
	return t->sideband ? -1 : (int)(RESCAN_NS / 1000000);
}

static void fork_into(struct tracker *t, uint32_t parent, uint32_t child, uint64_t time_ns)
{
	struct proc_id id = t->ops.fork(t->ops.ctx, parent, child, time_ns);
	t->counts.late += id.n && !is_shared(t);
}

void tracker_on_fork(struct tracker *t, uint32_t parent, uint32_t child, uint64_t time_ns)
{
	bool known = find(t, parent).n;
	map_del(&t->unseen, child);
	map_del(&t->preference, child);
	if (!t->h->select) {
		if (known)
			fork_into(t, parent, child, time_ns);
		return;
	}
	/* The parent's links do not apply to the child: until it has its own, its calls are missed. */
	if (known && !t->h->o->follow) {
		if (is_wanted(t, child))
			add(t, child);
		return;
	}
	if (known && !is_shared(t)) {
		if (!is_refused(t))
			fork_into(t, parent, child, time_ns);
		return;
	}
	/* Moving a process into a cgroup is not reported: its forks are an occasion to check it. */
	if (!known && t->h->select->cgroups.at_cnt)
		set_due(t, parent, 0);
	uint64_t *p = map_put(&t->parents, child);
	if (p)
		*p = parent;
	set_due(t, child, 0);
}

void tracker_on_exec(struct tracker *t, uint32_t tgid)
{
	if (!t->h->select)
		return;
	map_del(&t->parents, tgid);
	map_del(&t->translated, tgid);
	if (!leave_program(t, tgid))
		set_due(t, tgid, RECHECK);
}

void tracker_on_exit(struct tracker *t, uint32_t tgid)
{
	map_del(&t->due, tgid);
	map_del(&t->parents, tgid);
	map_del(&t->preference, tgid);
	map_del(&t->translated, tgid);
}

struct proc_id tracker_add_unknown(struct tracker *t, uint32_t tgid)
{
	const uint64_t *parent = map_get(&t->parents, tgid);
	const struct proc_id none = { 0 };
	struct err err;
	/* Without select it is a child that BPF added, and its fork record was lost. */
	if (!(t->h->select || t->h->o->follow) || map_get(&t->unseen, tgid) || tracker_is_excluded(t, tgid))
		return none;
	t->counts.looked++;
	bool refused = is_refused(t);
	if (!refused && parent && find(t, (uint32_t)*parent).n)
		fork_into(t, (uint32_t)*parent, tgid, now_ns());
	else if (!refused)
		t->ops.add(t->ops.ctx, tgid, &err);
	map_del(&t->parents, tgid);
	bool left = leave_program(t, tgid);
	struct proc_id id = find(t, tgid);
	if (!id.n) {
		t->counts.unseen += !refused && !left;
		if (t->unseen.count > UNSEEN_MAX)
			map_free(&t->unseen);
		map_put(&t->unseen, tgid);
	}
	return id;
}

struct tracker_counts tracker_counts(const struct tracker *t)
{
	return t->counts;
}
