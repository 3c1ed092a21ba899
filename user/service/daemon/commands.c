/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/commands: see commands.h. */
#include "daemon/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/clock.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "daemon/notify.h"

#define LISTED 200 /* most processes listed by `status` */

struct listed {
	struct continuous_process *list;
	size_t list_cnt, list_cap;
	const struct continuous *recording;
	uid_t uid;
	bool full;
};

/* The process's user by its /proc directory, which needs no privileges; -1 = it has exited. */
static long owner_of(uint32_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? -1 : (long)st.st_uid;
}

/* The owner is read first: if the process we trace still exists afterwards, the pid was not reused in between. */
static bool is_owner(const struct continuous *c, uint32_t pid, uid_t uid)
{
	return owner_of(pid) == (long)uid && (!continuous_find(c, pid).n || continuous_is_there(c, pid));
}

static int list(void *ctx, const struct continuous_process *p)
{
	struct listed *l = ctx;
	if (!l->full && !is_owner(l->recording, p->tgid, l->uid))
		return 0;
	struct continuous_process *place = VEC_PUSH(l, list);
	if (place)
		*place = *p;
	return 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct continuous_process *x = a, *y = b;
	return x->live > y->live ? -1 : x->live < y->live ? 1 : x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

static void add_bytes(struct buf *out, const char *before, double n)
{
	struct buf text = { 0 };
	buf_adds(&text, before);
	text_bytes(&text, n);
	buf_addf(out, "%12s", buf_str(&text));
	buf_free(&text);
}

/* Relative standard error; blank if the live bytes are exact. */
static void add_error(struct buf *out, const struct continuous_process *p)
{
	char text[8] = "";
	if (p->live_error > 0 && p->live > 0)
		snprintf(text, sizeof(text), "%.0f%%", fmin(ceil(100 * p->live_error / p->live), 999));
	buf_addf(out, " %5s ", text);
}

static void add_label(struct buf *out, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_adds(out, "  ");
	text_clean(out, name, SIZE_MAX);
	buf_u8(out, '=');
	text_clean(out, value, SIZE_MAX);
}

static void add_identity(struct buf *out, const struct continuous_process *p)
{
	struct attribute a;
	for (size_t at = 0; attributes_next(p->attributes, &at, &a);)
		add_label(out, a.name, a.value);
	add_label(out, "exe", p->exe);
	add_label(out, "build_id", p->build_id);
}

static void add_processes(const struct commands *c, struct listed *l, struct buf *out)
{
	continuous_each(*c->recording, false, list, l);
	if (!l->list_cnt)
		return;
	qsort(l->list, l->list_cnt, sizeof(l->list[0]), largest_first);
	buf_addf(out, "\n%8s  %-15s %12s %5s %12s %10s %8s  %-23s %s\n", "PID", "NAME", "LIVE", "ERR", "PER SECOND", "SAMPLES",
		 "LOST", "BEGAN", "IDENTITY");
	for (size_t i = 0; i < l->list_cnt && i < LISTED; i++) {
		const struct continuous_process *p = &l->list[i];
		struct buf name = { 0 };
		text_clean(&name, p->comm, 64);
		buf_addf(out, "%8u  %-15s ", p->tgid, buf_str(&name));
		add_bytes(out, p->live_below ? "<" : "", p->live_below ? p->live_below : p->live);
		add_error(out, p);
		add_bytes(out, "", p->rate);
		buf_addf(out, " %10llu %8llu  ", (unsigned long long)p->events, (unsigned long long)p->lost);
		text_moment(out, p->start_ns);
		add_identity(out, p);
		buf_u8(out, '\n');
		buf_free(&name);
	}
	if (l->list_cnt > LISTED)
		buf_addf(out, "%8s  %zu more\n", "", l->list_cnt - LISTED);
	free(l->list);
}

static void add_store(const struct commands *c, struct buf *out)
{
	const struct profile_store *k = *c->store;
	if (!k)
		return;
	const struct profile_store_counts *n = profile_store_counts(k);
	buf_addf(out, "profiles   %llu written, %llu failed, %llu old ones removed, %llu processes too short-lived for one%s%s\n",
		 (unsigned long long)n->written, (unsigned long long)n->failed, (unsigned long long)n->removed,
		 (unsigned long long)n->too_short, n->last_error[0] ? "; last failure: " : "", n->last_error);
}

static void add_push(const struct commands *c, struct buf *out)
{
	if (!c->push)
		return;
	buf_adds(out, "push       ");
	push_text(c->push, out);
	buf_u8(out, '\n');
}

static void add_liveness(const struct commands *c, struct buf *out)
{
	struct exactness e;
	continuous_exactness(*c->recording, &e);
	if (e.state == EXACTNESS_NO_HEAP)
		return;
	buf_adds(out, "liveness   ");
	exactness_text(&e, out);
	buf_u8(out, '\n');
}

static void add_use(const struct continuous_status *s, struct buf *out)
{
	char spent[TEXT_PERCENT];
	buf_adds(out, "memory     ");
	text_bytes(out, (double)s->memory);
	buf_adds(out, " of ");
	text_bytes(out, (double)s->memory_max);
	buf_adds(out, " (");
	text_bytes(out, (double)s->memory_kernel);
	buf_adds(out, " in the kernel, ");
	text_bytes(out, (double)s->memory_set_aside);
	buf_adds(out, " more set aside for profiles and names)");
	buf_addf(out, "\nprocessor  %.2f s own; probes and daemon take about %.2f %% of the machine\n", s->cpu_s, s->overhead);
	if (s->windowed)
		buf_addf(out,
			 "windows    %.3g %% of the time covered, in %" PRIu32
			 " windows; probes took %s of the programs' CPU time, of %.3g %% allowed\n",
			 100 * s->windows.covered, s->windows.windows, text_percent(spent, s->windows.spent),
			 100 * s->windows.max);
	buf_addf(out, "bounds     stacks refused %llu, processes refused %llu, live blocks thinned %llu times%s%s\n",
		 (unsigned long long)s->refused_stacks, (unsigned long long)s->refused_processes, (unsigned long long)s->thinned,
		 s->cause ? "; " : "", limits_cause_text(s->cause) ?: "");
	buf_addf(out, "names      %zu profiles wait, %llu failures of workers\n", s->waiting,
		 (unsigned long long)s->workers_failed);
}

static void add_log(struct buf *out)
{
	uint64_t lost = log_lost();
	if (lost)
		buf_addf(out, "log        %llu lines lost: whoever reads stderr does not keep up\n", (unsigned long long)lost);
}

/* "3 ended (2 exit, 1 crash), 1 left, 0 ended unseen" */
static void add_ended(const struct continuous_status *s, struct buf *out)
{
	struct buf ways = { 0 };
	uint64_t sum = 0;
	for (size_t i = 0; i < ENDING_CNT; i++) {
		uint64_t n = i == ENDING_EXEC || i == ENDING_LEFT ? 0 : s->ended[i];
		if (n)
			buf_addf(&ways, "%s%llu %s", sum ? ", " : "", (unsigned long long)n, ending_name((enum ending)i));
		sum += n;
	}
	buf_addf(out, "%llu ended", (unsigned long long)sum);
	if (sum)
		buf_addf(out, " (%s)", buf_str(&ways));
	buf_addf(out, ", %llu left, %llu ended unseen\n", (unsigned long long)s->ended[ENDING_LEFT],
		 (unsigned long long)s->unseen);
	buf_free(&ways);
}

static void add_probes(const struct continuous_status *s, struct buf *out)
{
	buf_addf(out, "probes     %zu files, %u places, %u links; %llu files examined so far%s", s->on ? s->files : 0,
		 s->on ? s->sites : 0, s->links, (unsigned long long)s->examined,
		 s->rescans ? "; new libraries are looked for four times a second" : "");
	if (s->given_up)
		buf_addf(out, "; %llu given up, too large for what they are or too much work", (unsigned long long)s->given_up);
	if (s->to_examine)
		buf_addf(out, "; %llu wait for that", (unsigned long long)s->to_examine);
	if (s->closed_files)
		buf_addf(out, "; %zu files could not be opened", s->closed_files);
	buf_u8(out, '\n');
}

/* Unless it is allocations alone. The table has the first subject. */
static void add_subjects(const struct catalog *c, struct buf *out)
{
	const char *between = "\nrecorded   ";
	if (!catalog_meta(c, SUBJECT_KEY) && !catalog_meta(c, BESIDE_KEY))
		return;
	for (enum subject s = 0; s < SUBJECT_CNT; s++) {
		if (!catalog_has_subject(c, s))
			continue;
		buf_addf(out, "%s%s", between, subject_name(s));
		between = ", ";
	}
}

static void status(const struct commands *c, struct client *from, uid_t uid, bool full)
{
	struct continuous_status s;
	struct listed l = { .recording = *c->recording, .uid = uid, .full = full };
	struct buf out = { 0 };
	continuous_status(*c->recording, &s);
	buf_addf(&out, "daemon     alys-bpf %s, process %d", ALYS_VERSION, (int)c->pid);
	if (c->pid != getpid())
		buf_addf(&out, " (records in %d)", (int)getpid());
	buf_addf(&out, ", up %lld s\n", (long long)(now_ns() / 1000000000) - (long long)(c->begun_ns / 1000000000));
	buf_addf(&out, "tracing    %s; ", s.on ? "on" : "off");
	if (s.noted)
		buf_adds(&out, "the samples that programs take themselves");
	else
		buf_addf(&out, "one sample every %llu bytes", (unsigned long long)s.interval);
	if (!s.noted && s.interval != s.interval_wanted)
		buf_addf(&out, " instead of %llu%s", (unsigned long long)s.interval_wanted,
			 s.cause ? "" : ", which comes back step by step");
	if (s.no_frees)
		buf_adds(&out, "; frees are not recorded");
	add_subjects(continuous_ledger(*c->recording), &out);
	buf_addf(&out, "\nprocesses  %zu traced; so far ", s.on ? s.processes : 0);
	add_ended(&s, &out);
	add_probes(&s, &out);
	buf_adds(&out, "account    ");
	catalog_ledger_text(continuous_ledger(*c->recording), &out);
	buf_u8(&out, '\n');
	add_liveness(c, &out);
	add_use(&s, &out);
	add_store(c, &out);
	add_push(c, &out);
	add_log(&out);
	buf_addf(&out, "rights     %s\n", c->fence);
	if (c->http_address)
		buf_addf(&out, *c->http_address == '/' ? "http       %s\n" : "http       http://%s/\n", c->http_address);
	add_processes(c, &l, &out);
	server_answer(from, EXIT_OK, buf_str(&out), -1);
	buf_free(&out);
}

static void finish(struct client *from, int rc, const char *done, const struct err *err)
{
	int status = !rc ? EXIT_OK : rc == -ESRCH || rc == -ENOENT ? EXIT_NOTHING : EXIT_ERROR;
	server_answer(from, status, rc ? err->text : done, -1);
}

static void on_profile(void *ctx, int rc, struct buf *out, const struct err *err)
{
	struct client *to = ctx;
	int fd = rc ? -1 : memfd_create("profile", MFD_CLOEXEC);
	if (!rc && (fd < 0 || outfile_write(fd, out->data, out->len)))
		server_answer(to, EXIT_ERROR, "the daemon has no memory for the profile", -1);
	else if (rc)
		server_answer(to, EXIT_ERROR, err->text, -1);
	else
		server_answer(to, EXIT_OK, "", fd);
	if (fd >= 0)
		close(fd);
	client_put(to);
}

static void snapshot(const struct commands *c, struct client *from, const struct request *r)
{
	struct err err = { 0 };
	struct profile_request p = {
		.format = r->format[0] ? r->format : "pprof",
		.done = on_profile,
		.ctx = client_hold(from),
		.caller = from,
		.proc = r->pid ? continuous_find(*c->recording, r->pid) : (struct proc_id){ 0 },
	};
	int rc = r->pid && !p.proc.n
			 ? err_set(&err, ESRCH, "process %u is not traced: `alys-bpf ctl status` lists those that are", r->pid)
			 : continuous_profile(*c->recording, &p, &err);
	if (!rc)
		return;
	client_put(from);
	finish(from, rc, "", &err);
}

void commands_client_gone(const struct commands *c, const struct client *gone)
{
	if (*c->recording)
		continuous_forget(*c->recording, gone);
}

static bool is_allowed(const struct continuous *c, const struct request *r, uid_t uid, bool full)
{
	bool for_own_process = (r->verb == REQUEST_ADD || r->verb == REQUEST_REMOVE || r->verb == REQUEST_SNAPSHOT) && r->pid &&
			       is_owner(c, r->pid, uid);
	return full || r->verb == REQUEST_STATUS || for_own_process;
}

static void rotate(const struct commands *c, struct client *from)
{
	if (!*c->store) {
		server_answer(from, EXIT_ERROR, "nothing to rotate: the daemon runs without --profile-dir", -1);
		return;
	}
	profile_store_write_all(*c->store, *c->recording);
	server_answer(from, EXIT_OK, "files are being written\n", -1);
}

/* Prints how long it took: switching is documented to be fast. */
static void turn(const struct commands *c, struct client *from, bool on)
{
	struct err err = { 0 };
	char done[80];
	int rc = 0;
	uint64_t begun_ns = now_ns();
	if (on)
		rc = continuous_on(*c->recording, &err);
	else
		continuous_off(*c->recording);
	if (!rc)
		notify(on ? NOTIFY_ON : NOTIFY_OFF);
	snprintf(done, sizeof(done), "tracing is %s (%.0f ms)\n", on ? "on" : "off: no probe is left",
		 (double)(now_ns() - begun_ns) / 1e6);
	finish(from, rc, done, &err);
}

void commands_run(struct commands *c, struct client *from, const struct request *r, uid_t uid, bool full)
{
	struct err err = { 0 };
	char done[128];
	if (!is_allowed(*c->recording, r, uid, full)) {
		server_answer(from, EXIT_ERROR,
			      "not allowed: root and members of the group alys may, others only `status`, and "
			      "`add`, `remove` and `snapshot` of their own processes",
			      -1);
		return;
	}
	switch (r->verb) {
	case REQUEST_STATUS: status(c, from, uid, full); break;
	case REQUEST_ON:
	case REQUEST_OFF: turn(c, from, r->verb == REQUEST_ON); break;
	case REQUEST_ADD:
		snprintf(done, sizeof(done), "process %u is traced\n", r->pid);
		finish(from, continuous_add(*c->recording, r->pid, &err), done, &err);
		break;
	case REQUEST_REMOVE:
		snprintf(done, sizeof(done), "process %u is left alone\n", r->pid);
		finish(from, continuous_remove(*c->recording, r->pid, &err), done, &err);
		break;
	case REQUEST_SAMPLE:
		continuous_set_interval(*c->recording, r->interval);
		snprintf(done, sizeof(done), "one sample every %llu bytes\n", (unsigned long long)r->interval);
		finish(from, 0, done, &err);
		break;
	case REQUEST_SNAPSHOT: snapshot(c, from, r); break;
	case REQUEST_ROTATE: rotate(c, from); break;
	case REQUEST_STOP:
		c->stop = true;
		finish(from, 0, "the daemon has ended\n", &err);
		break;
	case REQUEST_CNT: break;
	}
}
