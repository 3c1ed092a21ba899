/* recorder/roster: see roster.h. */
#include "recorder/roster.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "target/news.h"
#include "target/translator.h"

/* From the first news of a process until it is looked at. */
#define QUIET_NS 10000000ull
/* Without news of the kernel's. */
#define RESCAN_NS 250000000ull
#define UNSEEN_MAX 8192
/*
 * Processes with links of their own. What putting one there and taking it away costs grows with the others on the same
 * file: measured with 64, 128, 256 and 500 of them, all go in 0.3, 0.6, 1.9 and 16 s.
 */
#define OWN_LINKS_MAX 128

/* Due times are even; the lowest bit says that the process may not be wanted any more. */
#define RECHECK 1ull

enum standing { STANDING_PINNED = 1, STANDING_BANNED = 2 };

struct roster {
	struct live *live;
	const struct select *select;
	struct news *news;
	struct map due;      /* tgid -> when to look at it */
	struct map parents;  /* child -> parent, until the child is taken in */
	struct map standing; /* tgid -> enum standing */
	struct map translated; /* tgid -> 1: runs under a translator */
	struct map unseen;   /* tgid -> 1: ended before it could be looked at, or there was no room for it, or it was left */
	struct roster_counts counts;
	uint64_t last_scan_ns;
	bool lost, refused;
	bool warned; /* of too many processes with links of their own */
	char *program; /* our own executable, NULL = not known */
};

static void set_due(struct roster *r, uint32_t tgid, uint64_t recheck)
{
	uint64_t *due = map_put(&r->due, tgid);
	if (!due)
		r->lost = true;
	else if (!*due)
		*due = ((now_ns() + QUIET_NS) & ~RECHECK) | recheck;
	else
		*due |= recheck;
}

static void on_mapped(void *ctx, const struct report *report)
{
	struct roster *r = ctx;
	if (r->select || target_find(r->live->h.targets, report->tgid).n)
		set_due(r, report->tgid, 0);
	target_report(r->live->h.targets, report);
}

static void split(struct roster *r, uint32_t tgid, const char *name)
{
	log_warn("process %u runs under %s, and dies of probes that processes share: each traced one has its own from now on, "
		 "and children are traced some milliseconds after they begin", tgid, name);
	if (attach_is_shared(r->live->attach))
		attach_split(r->live->attach);
}

static void on_translator(void *ctx, uint32_t tgid, const char *name)
{
	struct roster *r = ctx;
	struct proc_id id = target_find(r->live->h.targets, tgid);
	if (attach_is_shared(r->live->attach))
		split(r, tgid, name);
	if (id.n)
		target_read_maps(r->live->h.targets, id, UINT64_MAX, NULL);
}

bool roster_may_share(struct roster *r)
{
	const char *name;
	uint32_t tgid = translator_search(&name);
	if (tgid)
		split(r, tgid, name);
	return !tgid;
}

static void on_lost(void *ctx)
{
	struct roster *r = ctx;
	r->lost = true;
}

struct roster *roster_new(struct live *l, const struct select *select, struct err *err)
{
	struct err why = { 0 };
	struct roster *r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	r->live = l;
	r->select = select;
	struct proc_facts self;
	if (!proc_read((uint32_t)getpid(), &self, NULL))
		r->program = strndup(self.exe, proc_exe_len(self.exe));
	struct news_ops ops = { .ctx = r, .on_mapped = on_mapped, .on_translator = on_translator, .on_lost = on_lost };
	r->news = news_open(&ops, &why);
	if (!r->news)
		log_info("%s: processes are looked at four times a second instead", why.text);
	return r;
}

void roster_free(struct roster *r)
{
	if (!r)
		return;
	news_close(r->news);
	map_free(&r->due);
	map_free(&r->parents);
	map_free(&r->standing);
	map_free(&r->translated);
	map_free(&r->unseen);
	free(r->program);
	free(r);
}

int roster_fd(const struct roster *r)
{
	return r->news ? news_fd(r->news) : -1;
}

void roster_pin(struct roster *r, uint32_t tgid)
{
	uint64_t *s = map_put(&r->standing, tgid);
	if (s)
		*s = STANDING_PINNED;
}

void roster_ban(struct roster *r, uint32_t tgid)
{
	uint64_t *s = map_put(&r->standing, tgid);
	if (s)
		*s = STANDING_BANNED;
}

bool roster_is_banned(const struct roster *r, uint32_t tgid)
{
	const uint64_t *s = map_get(&r->standing, tgid);
	return s && *s == STANDING_BANNED;
}

/* Helpers of ours come and go, too. */
bool roster_is_own(uint32_t tgid)
{
	return tgid == (uint32_t)getpid() || proc_status_value(tgid, "PPid") == (long)getpid() ||
	       (rights_lent() && tgid == (uint32_t)getppid());
}

/* Another of us, such as who asks over the socket: what a recording sees of recordings is about itself. */
static bool is_program(const struct roster *r, const char *exe)
{
	size_t n = proc_exe_len(exe);
	return r->program && *r->program && strlen(r->program) == n && !memcmp(r->program, exe, n);
}

static bool is_wanted(const struct roster *r, uint32_t tgid)
{
	struct proc_facts f;
	const uint64_t *s = map_get(&r->standing, tgid);
	if (map_get(&r->translated, tgid))
		return false;
	if (s)
		return *s == STANDING_PINNED;
	return r->select && !proc_read(tgid, &f, NULL) && select_wants(r->select, tgid, &f) && !is_program(r, f.exe) &&
	       !roster_is_own(tgid);
}

static bool is_refused(struct roster *r)
{
	r->counts.refused += r->live->full;
	r->refused |= r->live->full;
	return r->live->full;
}

/* It was taken in with its parent, or before it was looked at. */
static bool leave_program(struct roster *r, uint32_t tgid)
{
	const struct proc *p = catalog_proc(r->live->h.catalog, target_find(r->live->h.targets, tgid));
	if (!r->select || !p || map_get(&r->standing, tgid) || !is_program(r, p->exe))
		return false;
	live_drop(r->live, tgid);
	if (r->live->all)
		probe_exclude(r->live->h.probe, tgid, NULL);
	return true;
}

/* Those that there was no room for: whoever is still there is found. */
static void take_refused(struct roster *r)
{
	map_free(&r->unseen);
	r->lost = true;
	r->refused = false;
}

static void warn_of_many(struct roster *r)
{
	if (r->warned || attach_is_shared(r->live->attach) || target_count(r->live->h.targets) <= OWN_LINKS_MAX)
		return;
	log_warn("more than %d processes have probes of their own, which take long to be taken away: `alys-bpf ctl off` and `on` has "
		 "them share some, as --follow does from the begin", OWN_LINKS_MAX);
	r->warned = true;
}

static void add(struct roster *r, uint32_t tgid)
{
	struct err err = { 0 };
	r->counts.looked++;
	if (!is_refused(r) && live_add(r->live, tgid, &err) && err.code != ESRCH)
		log_at(err.code == ENOTSUP ? LOG_NORMAL : LOG_VERBOSE, "%s", err.text);
	if (err.code == ENOTSUP)
		map_put(&r->translated, tgid);
	warn_of_many(r);
}

/* Its last events may be in the ring yet: they are not to take it in again. */
static void leave(struct roster *r, uint32_t tgid)
{
	live_drop(r->live, tgid);
	map_put(&r->unseen, tgid);
}

static void look_at(struct roster *r, uint32_t tgid, bool recheck)
{
	struct proc_id id = target_find(r->live->h.targets, tgid);
	const uint64_t *parent = map_get(&r->parents, tgid);
	/* Of one that has ended nothing can be read, and how it ended is to come. */
	if (id.n && recheck && r->select && !is_wanted(r, tgid) && live_has(r->live, tgid))
		leave(r, tgid);
	else if (id.n)
		target_read_maps(r->live->h.targets, id, r->live->read_ns, NULL);
	else if (parent && r->live->h.o->follow && target_find(r->live->h.targets, (uint32_t)*parent).n)
		roster_take(r, tgid);
	else if (is_wanted(r, tgid))
		add(r, tgid);
	else if (r->select && r->live->h.o->follow && !r->live->all)
		probe_remove_target(r->live->h.probe, tgid); /* the kernel took it in with its parent */
	map_del(&r->parents, tgid);
}

/* What is due, a few at a time: a table that is walked must not change. */
static size_t collect_due(struct roster *r, uint64_t now, struct map_slot *out, size_t max, uint64_t *next)
{
	const struct map_slot *s;
	size_t n = 0;
	*next = 0;
	for (size_t i = 0; (s = map_next(&r->due, &i));) {
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

static int find_wanted(struct roster *r, struct found *out, struct err *err)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	if (!dir)
		return err_set(err, errno, "cannot read /proc: %s", strerror(errno));
	while ((e = readdir(dir))) {
		uint32_t tgid = (uint32_t)strtoul(e->d_name, NULL, 10);
		bool wanted = tgid && !target_find(r->live->h.targets, tgid).n && is_wanted(r, tgid);
		uint32_t *place = wanted ? VEC_PUSH(out, at) : NULL;
		if (place)
			*place = tgid;
	}
	closedir(dir);
	return 0;
}

int roster_scan(struct roster *r, struct err *err)
{
	struct found found = { 0 };
	int rc = r->select ? find_wanted(r, &found, err) : 0;
	/* At the begin, when nobody has any: a call must not be seen through two. */
	if (!r->last_scan_ns)
		attach_share(r->live->attach, (r->live->h.o->follow || r->live->h.o->pids_cnt + found.at_cnt > OWN_LINKS_MAX) &&
						      roster_may_share(r));
	for (size_t i = 0; i < found.at_cnt; i++)
		add(r, found.at[i]);
	free(found.at);
	r->last_scan_ns = now_ns();
	return rc;
}

static void rescan(struct roster *r)
{
	const struct proc *p;
	if (attach_is_shared(r->live->attach))
		roster_may_share(r);
	for (size_t i = 0; (p = catalog_next_proc(r->live->h.catalog, &i));) {
		if (target_find(r->live->h.targets, p->tgid).n == p->id.n)
			target_read_maps(r->live->h.targets, p->id, r->live->read_ns, NULL);
	}
	roster_scan(r, NULL);
	r->counts.rescans++;
	r->lost = false;
}

void roster_hear(struct roster *r)
{
	if (r->news)
		news_read(r->news);
}

int roster_work(struct roster *r)
{
	struct map_slot due[64];
	uint64_t next, now = now_ns();
	size_t n;
	if (!r->live->full && r->refused)
		take_refused(r);
	roster_hear(r);
	if (r->lost || (!r->news && now - r->last_scan_ns >= RESCAN_NS))
		rescan(r);
	do {
		n = collect_due(r, now, due, sizeof(due) / sizeof(due[0]), &next);
		for (size_t i = 0; i < n; i++) {
			map_del(&r->due, due[i].key);
			look_at(r, (uint32_t)due[i].key, due[i].value & RECHECK);
		}
	} while (n == sizeof(due) / sizeof(due[0]));
	now = now_ns();
	if (next)
		return next > now ? (int)((next - now) / 1000000) + 1 : 0;
	return r->news ? -1 : (int)(RESCAN_NS / 1000000);
}

static void fork_into(struct roster *r, uint32_t parent, uint32_t child, uint64_t time_ns)
{
	struct proc_id from = target_find(r->live->h.targets, parent), id = target_fork(r->live->h.targets, parent, child);
	struct event e = { .kind = EVENT_FORK, .proc = id, .tid = child, .old_addr = from.n, .time_ns = time_ns };
	if (id.n)
		live_write_event(r->live, &e);
	r->counts.late += id.n && !attach_is_shared(r->live->attach);
	if (id.n)
		attach_child(r->live->attach, catalog_proc(r->live->h.catalog, id));
}

void roster_on_fork(struct roster *r, uint32_t parent, uint32_t child, uint64_t time_ns)
{
	bool known = target_find(r->live->h.targets, parent).n;
	map_del(&r->unseen, child);
	map_del(&r->standing, child);
	if (!r->select) {
		if (known)
			fork_into(r, parent, child, time_ns);
		return;
	}
	/* Its links are its parent's no more: each moment without its own is lost. */
	if (known && !r->live->h.o->follow) {
		if (is_wanted(r, child))
			add(r, child);
		return;
	}
	if (known && !attach_is_shared(r->live->attach)) {
		if (!is_refused(r))
			fork_into(r, parent, child, time_ns);
		return;
	}
	/* Nobody tells of a process that was moved into a group: what it begins there does. */
	if (!known && r->select->cgroups.at_cnt)
		set_due(r, parent, 0);
	uint64_t *p = map_put(&r->parents, child);
	if (p)
		*p = parent;
	set_due(r, child, 0);
}

void roster_on_exec(struct roster *r, uint32_t tgid)
{
	if (!r->select)
		return;
	map_del(&r->parents, tgid);
	map_del(&r->translated, tgid);
	if (!leave_program(r, tgid))
		set_due(r, tgid, RECHECK);
}

void roster_on_exit(struct roster *r, uint32_t tgid)
{
	map_del(&r->due, tgid);
	map_del(&r->parents, tgid);
	map_del(&r->standing, tgid);
	map_del(&r->translated, tgid);
}

struct proc_id roster_take(struct roster *r, uint32_t tgid)
{
	const uint64_t *parent = map_get(&r->parents, tgid);
	const struct proc_id none = { 0 };
	struct err err;
	/* Without select it is a child that the kernel took in, and the word of its fork was lost. */
	if (!(r->select || r->live->h.o->follow) || map_get(&r->unseen, tgid) || roster_is_banned(r, tgid))
		return none;
	r->counts.looked++;
	bool refused = is_refused(r);
	if (!refused && parent && target_find(r->live->h.targets, (uint32_t)*parent).n)
		fork_into(r, (uint32_t)*parent, tgid, now_ns());
	else if (!refused)
		live_add(r->live, tgid, &err);
	map_del(&r->parents, tgid);
	bool left = leave_program(r, tgid);
	struct proc_id id = target_find(r->live->h.targets, tgid);
	if (!id.n) {
		r->counts.unseen += !refused && !left;
		if (r->unseen.count > UNSEEN_MAX)
			map_free(&r->unseen);
		map_put(&r->unseen, tgid);
	}
	return id;
}

struct roster_counts roster_counts(const struct roster *r)
{
	return r->counts;
}
