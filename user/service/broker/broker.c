/* SPDX-License-Identifier: Apache-2.0 */
/* broker: see broker.h. */
#include "broker/broker.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/environment.h"
#include "access/handover.h"
#include "access/rights.h"
#include "access/thread_stacks.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/grants.h"
#include "sandbox/allowed.h"
#include "sandbox/caps.h"
#include "sandbox/fence.h"
#include "unkilled/unkilled.h"

#define USER "alys"
#define NOBODY 65534
#define SITES_MAX 2048
#define COUNTERS_MAX 256 /* notes/noted.h */
#define REFUSALS_TOLD 20
#define PATH_SZ 4200         /* at least ENVIRONMENT_SZ */
#define WINDOW_SZ (1u << 20) /* shared mapping through which memory contents are returned */

enum broker_request {
	REQUEST_MAPS = 1,
	REQUEST_EXE,
	REQUEST_MAPPED,
	REQUEST_FILE,
	REQUEST_MEMORY,
	REQUEST_PLACE,
	REQUEST_LINK,
	REQUEST_TRACEPOINT,
	REQUEST_ARRAY,
	REQUEST_MAPPINGS,
	REQUEST_FOOTPRINT,
	REQUEST_TELL,
	REQUEST_THREADS,
	REQUEST_OURS,
	REQUEST_FACT,
	REQUEST_ENVIRONMENT,
	REQUEST_PRESENT,
	REQUEST_FAULTS,
};

/* One packet each way; a descriptor may go along. */
struct ask {
	uint32_t kind;
	int32_t number; /* CPU, size, place, or descriptor of a BPF program, which is the same in both processes */
	uint32_t tid, cnt, attach_type, flags;
	union {
		char path[PATH_SZ];
		struct rights_range ranges[SITES_MAX]; /* REQUEST_MAPPED has one: start and end */
		uint64_t pages[SITES_MAX];             /* REQUEST_PRESENT */
		struct {
			uint64_t offsets[SITES_MAX], cookies[SITES_MAX];
			uint64_t counters[COUNTERS_MAX];
			uint32_t counters_cnt; /* 0, or as many as sites */
			uint32_t pad;
		};
	};
};

struct answer {
	int32_t rc;
	char text[PATH_SZ]; /* a path, variables of an environment, or the error message */
};

/* --- the collector's side ---------------------------------------------------------------------- */

static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;

/* one_by_one is held. */
static int call_locked(const struct broker *b, const struct ask *a, size_t n, int fd, struct answer *out)
{
	int got = -1, rc = handover_send(b->sock, a, n, fd, 0);
	if (!rc && handover_receive(b->sock, out, sizeof(*out), &got) < (ssize_t)sizeof(out->rc))
		rc = -EPIPE;
	return rc ? rc : out->rc < 0 || got < 0 ? out->rc : got;
}

static int call(void *ctx, const struct ask *a, size_t n, int fd, struct answer *out)
{
	pthread_mutex_lock(&one_by_one);
	int rc = call_locked(ctx, a, n, fd, out);
	pthread_mutex_unlock(&one_by_one);
	return rc;
}

/* A request without a body. */
static int call_short(void *ctx, enum broker_request kind, uint32_t tid, int number, struct answer *out)
{
	struct ask a = { .kind = kind, .tid = tid, .number = number };
	return call(ctx, &a, offsetof(struct ask, path), -1, out);
}

static int call_path(void *ctx, enum broker_request kind, uint32_t tid, const char *path, int number)
{
	struct ask a = { .kind = kind, .tid = tid, .number = number };
	struct answer out;
	size_t n = strlen(path) + 1;
	if (n > sizeof(a.path))
		return -ENAMETOOLONG;
	memcpy(a.path, path, n);
	return call(ctx, &a, offsetof(struct ask, path) + n, -1, &out);
}

static int ask_maps(void *ctx, uint32_t tid)
{
	struct answer out;
	return call_short(ctx, REQUEST_MAPS, tid, 0, &out);
}

static int ask_fact(void *ctx, uint32_t tid, enum rights_fact what)
{
	struct answer out;
	return call_short(ctx, REQUEST_FACT, tid, (int)what, &out);
}

static int ask_exe(void *ctx, uint32_t tid, char *out, size_t cap)
{
	struct answer a;
	int rc = call_short(ctx, REQUEST_EXE, tid, 0, &a);
	if (rc < 0)
		return rc;
	size_t n = (size_t)rc < cap ? (size_t)rc : cap;
	if (n > sizeof(a.text))
		return -EPROTO;
	memcpy(out, a.text, n);
	return (int)n;
}

static int ask_environment(void *ctx, uint32_t tid, char *out)
{
	struct answer a;
	int rc = call_short(ctx, REQUEST_ENVIRONMENT, tid, 0, &a);
	if (rc > ENVIRONMENT_SZ)
		return -EPROTO;
	if (rc > 0)
		memcpy(out, a.text, (size_t)rc);
	return rc;
}

static int ask_mapped(void *ctx, uint32_t tid, uint64_t start, uint64_t end)
{
	struct ask a = { .kind = REQUEST_MAPPED, .tid = tid, .ranges = { { start, end } } };
	struct answer out;
	return call(ctx, &a, offsetof(struct ask, ranges) + sizeof(a.ranges[0]), -1, &out);
}

static int ask_file(void *ctx, uint32_t tid, const char *path)
{
	return call_path(ctx, REQUEST_FILE, tid, path, 0);
}

/* Fills a->ranges with as much as fits into the window; the last range may be truncated. Returns the number of bytes. */
static size_t pieces_of(struct rights_range first, const struct rights_range *r, size_t cnt, struct ask *a)
{
	size_t n = 0, total = 0;
	while (n < IOV_MAX && n < cnt && total < WINDOW_SZ) {
		struct rights_range p = n ? r[n] : first;
		p.n = p.n < WINDOW_SZ - total ? p.n : WINDOW_SZ - total;
		a->ranges[n++] = p;
		total += p.n;
	}
	a->cnt = (uint32_t)n;
	return total;
}

static int64_t ask_memory(void *ctx, uint32_t tid, const struct rights_range *r, size_t cnt, void *out)
{
	static struct ask a; /* too large for a stack */
	const struct broker *b = ctx;
	struct answer answer;
	uint64_t sum = 0, off = 0; /* off: bytes of *r already read */
	int64_t rc = 0;
	pthread_mutex_lock(&one_by_one);
	while (cnt) {
		a.kind = REQUEST_MEMORY;
		a.tid = tid;
		size_t wanted = pieces_of((struct rights_range){ r->addr + off, r->n - off }, r, cnt, &a);
		rc = call_locked(b, &a, offsetof(struct ask, ranges) + a.cnt * sizeof(a.ranges[0]), -1, &answer);
		if (rc < 0 || rc > (int64_t)wanted)
			break;
		memcpy((char *)out + sum, b->window, (size_t)rc);
		sum += (uint64_t)rc;
		if ((size_t)rc < wanted)
			break;
		for (off += wanted; cnt && off >= r->n; cnt--)
			off -= r++->n;
	}
	pthread_mutex_unlock(&one_by_one);
	return sum ? (int64_t)sum : rc > 0 ? -EPROTO : rc;
}

/* The answers are returned in the window. */
static int ask_present(void *ctx, uint32_t tid, const uint64_t *at, size_t cnt, uint8_t *out)
{
	static struct ask a; /* too large for a stack */
	const struct broker *b = ctx;
	struct answer answer;
	int rc = 0;
	pthread_mutex_lock(&one_by_one);
	while (cnt && !rc) {
		size_t n = cnt < SITES_MAX ? cnt : SITES_MAX;
		a.kind = REQUEST_PRESENT;
		a.tid = tid;
		a.cnt = (uint32_t)n;
		memcpy(a.pages, at, n * sizeof(*at));
		rc = call_locked(b, &a, offsetof(struct ask, pages) + n * sizeof(*at), -1, &answer);
		if (!rc)
			memcpy(out, b->window, n);
		at += n;
		out += n;
		cnt -= n;
	}
	pthread_mutex_unlock(&one_by_one);
	return rc > 0 ? -EPROTO : rc;
}

/* The list is returned in the window. */
static int ask_threads(void *ctx, uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap)
{
	const struct broker *b = ctx;
	struct ask a = { .kind = REQUEST_THREADS, .tid = tgid, .number = how, .cnt = from };
	struct answer answer;
	pthread_mutex_lock(&one_by_one);
	int rc = call_locked(b, &a, offsetof(struct ask, path), -1, &answer);
	if (how == THREADS_LIST && rc > 0) {
		size_t most = WINDOW_SZ / sizeof(*out);
		rc = (size_t)rc > most ? -EPROTO : (size_t)rc < cap ? rc : (int)cap;
		if (rc > 0)
			memcpy(out, b->window, (size_t)rc * sizeof(*out));
	}
	pthread_mutex_unlock(&one_by_one);
	return rc;
}

static int ask_place(void *ctx, enum rights_place what, int number)
{
	struct answer out;
	return call_short(ctx, REQUEST_PLACE, what, number, &out);
}

static int ask_link(void *ctx, const struct rights_link *l)
{
	struct ask a = { .kind = REQUEST_LINK,
			 .number = l->prog_fd,
			 .attach_type = l->attach_type,
			 .flags = l->flags,
			 .tid = l->tgid,
			 .cnt = l->cnt };
	struct answer out;
	if (l->cnt > SITES_MAX || (l->counters && l->cnt > COUNTERS_MAX))
		return -E2BIG;
	if (l->counters) {
		memcpy(a.counters, l->counters, l->cnt * sizeof(a.counters[0]));
		a.counters_cnt = l->cnt;
	}
	memcpy(a.offsets, l->offsets, l->cnt * sizeof(a.offsets[0]));
	memcpy(a.cookies, l->cookies, l->cnt * sizeof(a.cookies[0]));
	return call(ctx, &a, sizeof(a), l->file_fd, &out);
}

static int ask_tracepoint(void *ctx, const char *name, int prog_fd)
{
	return call_path(ctx, REQUEST_TRACEPOINT, 0, name, prog_fd);
}

static int ask_faults(void *ctx, int cpu, int prog_fd)
{
	struct answer out;
	return call_short(ctx, REQUEST_FAULTS, (uint32_t)cpu, prog_fd, &out);
}

static int ask_array(void *ctx, const char *name, uint32_t value_sz)
{
	return call_path(ctx, REQUEST_ARRAY, 0, name, (int)value_sz);
}

static int ask_mappings(void *ctx, int cpu)
{
	struct answer out;
	return call_short(ctx, REQUEST_MAPPINGS, 0, cpu, &out);
}

static int ask_ours(void *ctx, int fd)
{
	struct ask a = { .kind = REQUEST_OURS };
	struct answer out;
	return call(ctx, &a, offsetof(struct ask, path), fd, &out);
}

static int ask_footprint(void *ctx)
{
	struct answer out;
	return call_short(ctx, REQUEST_FOOTPRINT, 0, 0, &out);
}

int broker_notify(void *broker, int what)
{
	struct answer out;
	return call_short(broker, REQUEST_TELL, 0, what, &out);
}

/* --- the broker's side ------------------------------------------------------------------------- */

/* A received packet, not yet validated. */
struct request {
	struct ask *ask;
	size_t body; /* bytes behind the head */
	int fd;
};

static bool has_path(const struct request *q)
{
	return q->body && q->body <= sizeof(q->ask->path) && memchr(q->ask->path, 0, q->body);
}

static bool has_ranges(const struct request *q, size_t cnt)
{
	return cnt && cnt <= SITES_MAX && q->body == cnt * sizeof(q->ask->ranges[0]);
}

static int no_such_request(struct err *why)
{
	return err_set(why, EPROTO, "malformed request refused");
}

static int do_link(const struct request *q, struct err *why)
{
	const struct ask *a = q->ask;
	struct rights_link l = { .prog_fd = a->number,
				 .file_fd = q->fd,
				 .attach_type = a->attach_type,
				 .flags = a->flags,
				 .tgid = a->tid,
				 .cnt = a->cnt,
				 .offsets = a->offsets,
				 .cookies = a->cookies,
				 .counters = a->counters_cnt ? a->counters : NULL };
	bool counted = a->counters_cnt == a->cnt && a->cnt <= COUNTERS_MAX;
	bool whole = q->body == sizeof(*a) - offsetof(struct ask, path) && a->cnt <= SITES_MAX && q->fd >= 0 &&
		     (counted || !a->counters_cnt);
	return whole ? grant_link(&l, why) : no_such_request(why);
}

static int do_threads(const struct broker *b, const struct request *q, struct err *why)
{
	const struct ask *a = q->ask;
	size_t most = WINDOW_SZ / sizeof(struct rights_thread);
	return q->body ? no_such_request(why)
		       : grant_threads(a->tid, (enum rights_threads)a->number, a->cnt, b->window, most, why);
}

/* Only requests for reading a heap, and only about the target: 0 or -errno. */
static int must_be_about_target(const struct ask *a, struct err *why)
{
	switch (a->kind) {
	case REQUEST_MAPS:
	case REQUEST_FACT:
	case REQUEST_EXE:
	case REQUEST_MAPPED:
	case REQUEST_FILE:
	case REQUEST_MEMORY: return grants_cover(a->tid, why);
	case REQUEST_THREADS:
	case REQUEST_TELL:
	case REQUEST_OURS: return 0;
	default: return no_such_request(why);
	}
}

static int do_present(const struct broker *b, const struct request *q, struct err *why)
{
	const struct ask *a = q->ask;
	_Static_assert(SITES_MAX <= WINDOW_SZ, "the window holds all answers");
	if (!b->pages || !a->cnt || a->cnt > SITES_MAX || q->body != a->cnt * sizeof(a->pages[0]))
		return no_such_request(why);
	return rights_own.present(NULL, a->tid, a->pages, a->cnt, b->window);
}

static int do_place(const struct ask *a)
{
	return a->tid <= PLACE_MAP ? rights_own.place(NULL, (enum rights_place)a->tid, a->number) : -EPROTO;
}

/* Facts about memory only for reading the heap of a named process: a recording could learn physical addresses, too. */
static int do_fact(const struct broker *b, const struct request *q, struct err *why)
{
	const struct ask *a = q->ask;
	bool open = a->number >= 0 && a->number <= FACT_CGROUP;
	if (q->body || (!open && (!b->target || b->records)))
		return no_such_request(why);
	return rights_own.fact(NULL, a->tid, (enum rights_fact)a->number);
}

/* Returns a descriptor or a number, or -errno. */
static int grant(const struct broker *b, const struct request *q, struct answer *out, struct err *why)
{
	const struct ask *a = q->ask;
	int rc = b->target ? must_be_about_target(a, why) : 0;
	if (rc)
		return rc;
	switch (a->kind) {
	case REQUEST_MAPS: return rights_own.maps(NULL, a->tid);
	case REQUEST_FACT: return do_fact(b, q, why);
	case REQUEST_EXE: return rights_own.exe(NULL, a->tid, out->text, sizeof(out->text));
	case REQUEST_ENVIRONMENT: return q->body ? no_such_request(why) : rights_own.environment(NULL, a->tid, out->text);
	case REQUEST_MAPPED:
		return has_ranges(q, 1) ? grant_mapped(a->tid, a->ranges[0].addr, a->ranges[0].n, why) : no_such_request(why);
	case REQUEST_FILE: return has_path(q) ? grant_file(a->tid, a->path, why) : no_such_request(why);
	case REQUEST_MEMORY:
		return has_ranges(q, a->cnt) ? (int)grant_memory(a->tid, a->ranges, a->cnt, b->window, WINDOW_SZ)
					     : no_such_request(why);
	case REQUEST_PRESENT: return do_present(b, q, why);
	case REQUEST_PLACE: return do_place(a);
	case REQUEST_LINK: return do_link(q, why);
	case REQUEST_TRACEPOINT: return has_path(q) ? grant_tracepoint(a->path, a->number, b->pages, why) : no_such_request(why);
	case REQUEST_FAULTS: return q->body ? no_such_request(why) : grant_faults((int)a->tid, a->number, b->pages, why);
	case REQUEST_ARRAY: return has_path(q) ? grant_array(a->path, (uint32_t)a->number, why) : no_such_request(why);
	case REQUEST_MAPPINGS: return rights_own.mappings(NULL, a->number);
	case REQUEST_FOOTPRINT: return q->body ? no_such_request(why) : rights_own.footprint(NULL);
	case REQUEST_TELL:
		if (!b->tells || q->body)
			return no_such_request(why);
		return b->tells(b->ctx, a->number);
	case REQUEST_THREADS: return do_threads(b, q, why);
	case REQUEST_OURS: return q->fd < 0 || q->body ? no_such_request(why) : rights_own.ours(NULL, q->fd);
	default: return no_such_request(why);
	}
}

/* The collector may have closed its own descriptor of a link already: then this is the last one. */
static void let_go(const struct ask *a, int given)
{
	if (a->kind == REQUEST_LINK)
		unkilled_close(given);
	else
		close(given);
}

static bool passes(const struct ask *a)
{
	switch (a->kind) {
	case REQUEST_EXE:
	case REQUEST_ENVIRONMENT:
	case REQUEST_MEMORY:
	case REQUEST_PRESENT:
	case REQUEST_FOOTPRINT:
	case REQUEST_TELL:
	case REQUEST_THREADS:
	case REQUEST_OURS: return false;
	case REQUEST_PLACE: return a->tid == PLACE_MAP;
	default: return true;
	}
}

static bool has_text(const struct ask *a, const struct err *why)
{
	return why->code || a->kind == REQUEST_EXE || a->kind == REQUEST_ENVIRONMENT;
}

/*
 * Logs refusals that hint at a compromised collector. ENOEXEC and ESTALE are ordinary: non-ELF files, processes that
 * changed.
 */
static void tell(const struct err *why)
{
	static unsigned told;
	if (why->code && why->code != ENOEXEC && why->code != ESTALE && told++ < REFUSALS_TOLD)
		log_warn("refused a request of the unprivileged process: %s%s", why->text,
			 told == REFUSALS_TOLD ? " (further ones are not logged)" : "");
}

/* False if the collector has exited. `serving` is held: the buffers are static, and a recording has several threads. */
static bool serve_locked(const struct broker *b)
{
	static struct ask a; /* too large for a stack */
	static struct answer out;
	struct request q = { .ask = &a };
	struct err why = { 0 };
	ssize_t n = handover_receive(b->sock, &a, sizeof(a), &q.fd);
	if (n <= 0)
		return false;
	q.body = (size_t)n - offsetof(struct ask, path);
	grants_narrow(b->target, (uint32_t)b->pid, b->stops);
	out = (struct answer){ 0 };
	out.rc = (size_t)n < offsetof(struct ask, path) ? no_such_request(&why) : grant(b, &q, &out, &why);
	tell(&why);
	int given = out.rc >= 0 && passes(&a) ? out.rc : -1;
	if (why.code)
		snprintf(out.text, sizeof(out.text), "%s", why.text);
	int rc = handover_send(b->sock, &out, has_text(&a, &why) ? sizeof(out) : sizeof(out.rc), given, 0);
	if (given >= 0)
		let_go(&a, given);
	if (q.fd >= 0)
		close(q.fd);
	return !rc;
}

static bool serve_one(const struct broker *b)
{
	static pthread_mutex_t serving = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&serving);
	bool there = serve_locked(b);
	pthread_mutex_unlock(&serving);
	return there;
}

int broker_end(struct broker *b)
{
	int status = -1;
	if (b->pid <= 0)
		return status;
	close(b->sock);
	munmap(b->window, WINDOW_SZ);
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
	return status;
}

int broker_serve_until(struct broker *b, int fd, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = b->sock, .events = POLLIN } };
	uint64_t until = now_ns() + (uint64_t)timeout_ms * 1000000;
	for (;;) {
		uint64_t now = now_ns();
		int ready = poll(fds, 2, now < until ? (int)((until - now) / 1000000) + 1 : 0);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ready ? -errno : -ETIMEDOUT;
		if (fds[0].revents)
			return 0;
		if (!serve_one(b))
			return -EPIPE;
	}
}

int broker_serve(struct broker *b, int signals)
{
	struct pollfd fds[] = { { .fd = b->sock, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	for (bool there = true; there;) {
		int ready = poll(fds, 2, thread_stacks_left_ms());
		if (ready < 0 && errno != EINTR)
			break;
		if (!thread_stacks_left_ms())
			thread_stacks_resume();
		if (ready <= 0)
			continue;
		while (read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (!b->forwards_signal || b->forwards_signal(b->ctx, (int)info.ssi_signo))
				kill(b->pid, (int)info.ssi_signo);
		}
		if (fds[0].revents)
			there = serve_one(b);
	}
	thread_stacks_resume();
	return broker_end(b);
}

/* --- the split --------------------------------------------------------------------------------- */

/* A user namespace may not map the id. */
static bool is_there(const char *map, unsigned int id)
{
	unsigned int first, cnt;
	bool found = false;
	FILE *f = fopen(map, "re");
	while (f && !found && fscanf(f, "%u %*u %u", &first, &cnt) == 2)
		found = id >= first && id - first < cnt;
	if (f)
		fclose(f);
	return found;
}

/* Root of a namespace that maps no other user keeps its uid and drops its capabilities only. */
void broker_choose_user(struct broker *b)
{
	bool may = caps_has(CAP_SETUID) && caps_has(CAP_SETGID);
	const struct passwd *p = may ? getpwnam(USER) : NULL;
	b->uid = p ? p->pw_uid : may ? NOBODY : geteuid();
	b->gid = p ? p->pw_gid : may ? NOBODY : getegid();
	if (is_there("/proc/self/uid_map", b->uid) && is_there("/proc/self/gid_map", b->gid))
		return;
	b->uid = geteuid();
	b->gid = getegid();
}

#ifdef __SANITIZE_ADDRESS__
int __lsan_is_turned_off(void);

/* LeakSanitizer uses ptrace, which the seccomp filters of both processes forbid. */
int __lsan_is_turned_off(void)
{
	return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}
#endif

static int give_up_rights(const struct broker *b)
{
	struct rlimit no_core = { 0, 0 };
	caps_keep_advice();
	if (b->uid != geteuid() &&
	    ((setgroups(0, NULL) && errno != EPERM) || setresgid(b->gid, b->gid, b->gid) || setresuid(b->uid, b->uid, b->uid)))
		return -errno;
	if (caps_drop_all() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &no_core) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return 0;
}

/* How many capabilities of the lists below are kept. CAP_KILL: the collector of a heap is killed with its broker. */
#define CAPS_READ_HEAP 4
#define CAPS_INSPECT 6
#define CAPS_SET_USER 4

/*
 * Runs once; a reload does not repeat it. Kept are the capabilities for inspecting processes; those for changing users, if
 * the collector of the next reload runs as another user; and without a collector (alone), CAP_CHOWN for the profile directory.
 * The broker of a heap reader changes no users, but may create a file.
 */
static int keep_rights(const struct broker *b, bool alone)
{
	static const int used[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
				    CAP_BPF,        CAP_PERFMON,         CAP_SYS_ADMIN,
				    CAP_SETUID,     CAP_SETGID,          CAP_KILL,
				    CAP_CHOWN,      CAP_DAC_OVERRIDE };
	static const int of_heap[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE,
				       CAP_KILL,       CAP_DAC_OVERRIDE,    CAP_FOWNER };
	static bool done;
	size_t cnt = CAPS_INSPECT + (b->uid != geteuid() ? CAPS_SET_USER + alone : 0);
	if (done)
		return 0;
	done = true;
	int rc = b->target ? caps_keep(of_heap, b->writes ? sizeof(of_heap) / sizeof(of_heap[0]) : CAPS_READ_HEAP)
			   : caps_keep(used, cnt);
	if (!rc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = -errno;
	return rc ? rc : allowed_to_broker(b->stops);
}

int broker_stay_alone(const struct broker *b, struct err *err)
{
	int rc = keep_rights(b, true);
	return rc ? err_set(err, -rc, "the daemon cannot drop unused privileges: %s", strerror(-rc)) : 0;
}

/* Both sides return; b->pid says which one this is. */
static int fork_collector(struct broker *b, struct err *err)
{
	int pair[2], size = 4 * (int)sizeof(struct ask);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(err, errno, "socketpair: %s", strerror(errno));
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	b->pid = fork();
	if (b->pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return err_set(err, errno, "cannot start the collector: %s", strerror(errno));
	}
	b->sock = pair[b->pid ? 0 : 1];
	close(pair[b->pid ? 1 : 0]);
	return 0;
}

/* From now on the collector asks the broker. */
static int become_collector(struct broker *b, struct err *err)
{
	static struct rights asking = {
		.maps = ask_maps,
		.fact = ask_fact,
		.exe = ask_exe,
		.environment = ask_environment,
		.mapped = ask_mapped,
		.file = ask_file,
		.memory = ask_memory,
		.present = ask_present,
		.place = ask_place,
		.link = ask_link,
		.tracepoint = ask_tracepoint,
		.faults = ask_faults,
		.array = ask_array,
		.mappings = ask_mappings,
		.ours = ask_ours,
		.footprint = ask_footprint,
		.threads = ask_threads,
	};
	/* Landlock is an additional barrier: without it the daemon continues, and its status says so. */
	b->fenced = fence_raise(b->writable);
	int rc = allowed_to_collector();
	if (rc)
		return err_set(err, -rc, "the collector cannot restrict its system calls: %s", strerror(-rc));
	asking.ctx = b;
	rights_delegate(&asking);
	return 0;
}

int broker_split(struct broker *b, struct err *err)
{
	b->window = mmap(NULL, WINDOW_SZ, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->window == MAP_FAILED)
		return err_set(err, errno, "mmap: %s", strerror(errno));
	int rc = fork_collector(b, err);
	if (rc)
		return rc;
	rc = !b->pid ? give_up_rights(b) : b->records ? 0 : keep_rights(b, false);
	if (rc && b->pid)
		kill(b->pid, SIGKILL);
	if (rc)
		return err_set(err, -rc, "the %s cannot drop its privileges: %s", b->pid ? "broker" : "collector", strerror(-rc));
	return b->pid ? 0 : become_collector(b, err);
}
