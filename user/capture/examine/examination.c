/* SPDX-License-Identifier: Apache-2.0 */
/* examine/examination: see examination.h. */
#include "examine/examination.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/handover.h"
#include "base/clock.h"
#include "base/vec.h"
#include "sandbox/spawn.h"
#include "examine/examiner.h"
#include "sandbox/jail.h"

#define AT_ONCE 2
#define SECONDS 10                /* of CPU time for a file; a browser takes two */
#define TIMEOUT_NS 60000000000ull /* of wall time: the machine may be busy, the disk slow */
#define USERS_MAX 256
#define QUEUE_MAX 4096  /* waiting files of one user... */
#define QUEUE_FIRST 256 /* ...and more of those that come first */
#define ANSWER_MAX (96ull << 20)
#define ROOM_MIN (16ull << 20)
#define IDLE_NS 1000000000ull /* idle time after which the examiner ends */
#define STEP (1u << 20)       /* bytes of an answer that are read at a time */
/* CPU time for the files of one user: share of one CPU in the long run, and the most at a stretch. */
#define SHARE_PERCENT 25
#define STRETCH_NS 10000000000ull

struct user { /* owner of files */
	uint64_t who, spent_ns, at_ns;
};

struct running {
	struct examination what;
	uint64_t who, began_ns;
	pid_t pid; /* 0: none */
	int fd;
	struct buf answer;
};

struct waiting {
	struct examination what;
	uint64_t who;
};

struct examinations {
	struct examinations_ops ops;
	struct spawned examiner;
	struct examiner_order order;
	struct running running[AT_ONCE], now; /* now: of examinations_now */
	struct waiting *queue;
	size_t queue_cnt, queue_cap;
	struct user *users;
	size_t users_cnt, users_cap;
	int wake_fd;
	uint64_t system;  /* the system's own files, as a user */
	uint64_t room;    /* 0 = no limit */
	uint64_t used_ns; /* when an examination was begun last */
	struct examinations_counts counts;
};

/* --- whose file is next --------------------------------------------------------------------------- */

/* The owner of a file. Root's files are the system's or a container's: each has file systems of its own. */
static uint64_t user_of(int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return 0;
	return st.st_uid ? st.st_uid : (uint64_t)st.st_dev << 32;
}

/* The system's own files come first and are not limited, because no other user can add any. */
static bool is_system(const struct examinations *x, uint64_t who)
{
	return who == x->system;
}

static struct user *user_at(struct examinations *x, uint64_t who)
{
	for (size_t i = 0; i < x->users_cnt; i++) {
		if (x->users[i].who == who)
			return &x->users[i];
	}
	/* One person may have very many user ids: if there are too many, they share accounts. */
	if (x->users_cnt == USERS_MAX)
		return &x->users[who % USERS_MAX];
	struct user *u = VEC_PUSH(x, users);
	if (u)
		*u = (struct user){ .who = who, .at_ns = now_ns() };
	return u;
}

static uint64_t spent_by(struct examinations *x, uint64_t who, uint64_t now)
{
	struct user *u = is_system(x, who) ? NULL : user_at(x, who);
	uint64_t back = u ? (now - u->at_ns) / 100 * SHARE_PERCENT : 0;
	if (!u)
		return 0;
	u->spent_ns -= back < u->spent_ns ? back : u->spent_ns;
	u->at_ns = now;
	return u->spent_ns;
}

static bool is_served(const struct examinations *x, uint64_t who)
{
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (x->running[i].pid && x->running[i].who == who)
			return true;
	}
	return false;
}

/* What counts before a file is read: STRETCH_NS or more is not yet. One file of a user at a time, and of the system if others wait. */
static uint64_t rank(struct examinations *x, uint64_t who, uint64_t now)
{
	if (!is_served(x, who))
		return spent_by(x, who, now);
	return is_system(x, who) ? STRETCH_NS - 1 : STRETCH_NS;
}

/* Index of the next file in the queue, or queue_cnt. */
static size_t choose(struct examinations *x)
{
	uint64_t now = now_ns(), least = STRETCH_NS;
	size_t best = x->queue_cnt;
	for (size_t i = 0; i < x->queue_cnt; i++) {
		const struct waiting *w = &x->queue[i];
		uint64_t spent = rank(x, w->who, now);
		bool earlier = best < x->queue_cnt && w->what.first && !x->queue[best].what.first && spent == least;
		if (spent >= least && !earlier)
			continue;
		least = spent;
		best = i;
	}
	return best;
}

/* --- one file ------------------------------------------------------------------------------------ */

static uint64_t memory_for_one(const struct examinations *x)
{
	uint64_t share = x->room / AT_ONCE;
	return !x->room ? 0 : share > ROOM_MIN ? share : ROOM_MIN;
}

static int order(struct examinations *x, const struct examination *e, bool yields, struct examiner_reply *reply, int *fd)
{
	int rc = x->examiner.pid ? 0 : spawn_worker(&x->examiner, NULL, examiner_name);
	if (rc)
		return rc;
	/* Blocking, because the examiner only answers, and at once. */
	fcntl(x->examiner.sock, F_SETFL, 0);
	x->order = (struct examiner_order){ .ask = e->ask, .memory = memory_for_one(x), .seconds = SECONDS, .yields = yields };
	snprintf(x->order.path, sizeof(x->order.path), "%s", e->path);
	snprintf(x->order.patterns, sizeof(x->order.patterns), "%s", e->ask.functions.patterns ?: "");
	x->order.own = *own_used();
	rc = handover_send(x->examiner.sock, &x->order, sizeof(x->order), e->fd, 0);
	if (!rc && handover_receive(x->examiner.sock, reply, sizeof(*reply), fd) != (ssize_t)sizeof(*reply))
		rc = -EPIPE;
	return rc ?: reply->pid < 0 ? reply->pid : *fd < 0 ? -EPROTO : 0;
}

static int begin(struct examinations *x, struct running *r, const struct examination *e, bool yields)
{
	struct examiner_reply reply = { 0 };
	*r = (struct running){ .what = *e, .who = user_of(e->fd), .began_ns = now_ns(), .fd = -1 };
	int rc = order(x, e, yields, &reply, &r->fd);
	if (rc) {
		spawn_end(&x->examiner);
		return rc;
	}
	r->pid = reply.pid;
	x->used_ns = r->began_ns;
	x->counts.examined += e->ask.parts != FINDINGS_OUTLINE;
	fcntl(r->fd, F_SETFL, O_NONBLOCK);
	fcntl(r->fd, F_SETPIPE_SZ, STEP);
	return 0;
}

/* False while there is more to come. */
static bool read_answer(struct running *r)
{
	for (size_t step = 0; step < STEP;) {
		uint8_t *room = r->answer.len < ANSWER_MAX ? buf_room(&r->answer, STEP / 4) : NULL;
		ssize_t n = room ? read(r->fd, room, STEP / 4) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno != EAGAIN;
		if (!n)
			return true;
		r->answer.len += (size_t)n;
		step += (size_t)n;
	}
	return false;
}

static bool is_late(const struct running *r)
{
	return now_ns() - r->began_ns > TIMEOUT_NS;
}

static void say_why(const struct running *r, int status, const struct rusage *used, struct err *err)
{
	if (used->ru_utime.tv_sec + used->ru_stime.tv_sec + 1 >= SECONDS)
		err_set(err, ETIMEDOUT, "examination given up: it takes more than %d s", SECONDS);
	else if (is_late(r))
		err_set(err, ETIMEDOUT, "examination given up: not finished in %d s", (int)(TIMEOUT_NS / 1000000000));
	else if (r->answer.len >= ANSWER_MAX || (WIFEXITED(status) && WEXITSTATUS(status)))
		err_set(err, ENOMEM, "examination given up: it needs more memory than one file may use");
	else
		err_set(err, EBADMSG, "its examiner process was killed by signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* Waits for the process, which is done or given up, and charges its CPU time to the file's user. */
static int settle(struct examinations *x, struct running *r, struct rusage *used)
{
	int status = 0;
	kill(r->pid, SIGKILL); /* no effect on one that has exited by itself */
	while (wait4(r->pid, &status, 0, used) < 0 && errno == EINTR)
		;
	struct user *u = is_system(x, r->who) ? NULL : user_at(x, r->who);
	if (u)
		u->spent_ns += (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000ull +
			       (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000ull;
	close(r->fd);
	r->pid = 0;
	return status;
}

static void end(struct examinations *x, struct running *r, struct findings *out)
{
	struct rusage used = { 0 };
	int status = settle(x, r, &used);
	bool whole = !r->answer.failed && !findings_read(r->answer.data, r->answer.len, r->what.ask.parts, out);
	if (!whole) {
		*out = (struct findings){ 0 };
		say_why(r, status, &used, &out->failed);
	}
	out->module = r->what.module;
	out->asked = r->what.ask.parts;
	x->counts.given_up += r->what.ask.parts != FINDINGS_OUTLINE && (!whole || out->refused[0]);
	buf_free(&r->answer);
}

/* --- all of them --------------------------------------------------------------------------------- */

struct examinations *examinations_new(const struct examinations_ops *ops, struct err *err)
{
	struct examinations *x = calloc(1, sizeof(*x));
	if (!x) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	struct stat usr;
	x->ops = ops ? *ops : (struct examinations_ops){ 0 };
	x->system = stat("/usr", &usr) ? 0 : (uint64_t)usr.st_dev << 32;
	x->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (x->wake_fd >= 0)
		return x;
	err_set(err, errno, "epoll: %s", strerror(errno));
	free(x);
	return NULL;
}

void examinations_free(struct examinations *x)
{
	struct findings f;
	if (!x)
		return;
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (!x->running[i].pid)
			continue;
		end(x, &x->running[i], &f);
		findings_free(&f);
	}
	spawn_end(&x->examiner);
	close(x->wake_fd);
	free(x->queue);
	free(x->users);
	free(x);
}

static void fail(const struct examination *e, int rc, struct findings *out)
{
	*out = (struct findings){ .module = e->module, .asked = e->ask.parts };
	err_set(&out->failed, -rc, "cannot start an examiner process: %s", strerror(-rc));
}

void examinations_now(struct examinations *x, const struct examination *e, struct findings *out)
{
	struct pollfd pipe = { .events = POLLIN };
	int rc = begin(x, &x->now, e, false);
	if (rc) {
		fail(e, rc, out);
		return;
	}
	pipe.fd = x->now.fd;
	while (!read_answer(&x->now) && !is_late(&x->now))
		poll(&pipe, 1, 1000);
	end(x, &x->now, out);
}

struct elf *examinations_outline(struct examinations *x, int fd, const char *path)
{
	const struct examination e = { .fd = fd, .path = path, .ask = { .parts = FINDINGS_OUTLINE } };
	struct findings f;
	examinations_now(x, &e, &f);
	struct elf *outline = f.outline;
	f.outline = NULL;
	findings_free(&f);
	return outline;
}

int examinations_ask(struct examinations *x, const struct examination *e)
{
	uint64_t who = user_of(e->fd);
	size_t mine = 0;
	for (size_t i = 0; i < x->queue_cnt; i++)
		mine += x->queue[i].who == who;
	struct waiting *w = mine < QUEUE_MAX + (e->first ? QUEUE_FIRST : 0) ? VEC_PUSH(x, queue) : NULL;
	if (!w)
		return -ENOBUFS;
	*w = (struct waiting){ .what = *e, .who = who };
	return 0;
}

static void ring(const struct examinations *x, const struct running *r)
{
	struct epoll_event on = { .events = EPOLLIN };
	epoll_ctl(x->wake_fd, EPOLL_CTL_ADD, r->fd, &on);
}

/* Begins the next examination. False: there is none to begin. *failed: it could not be begun, *out says why. */
static bool begin_next(struct examinations *x, struct running *r, struct findings *out, bool *failed)
{
	size_t at = choose(x);
	if (at == x->queue_cnt)
		return false;
	struct examination e = x->queue[at].what;
	memmove(&x->queue[at], &x->queue[at + 1], (--x->queue_cnt - at) * sizeof(*x->queue));
	if (!x->ops.open(x->ops.ctx, e.module, &e.fd, &e.path))
		return true;
	int rc = begin(x, r, &e, !e.first);
	*failed = rc;
	if (rc)
		fail(&e, rc, out);
	else
		ring(x, r);
	return true;
}

bool examinations_take(struct examinations *x, struct findings *out)
{
	bool failed = false;
	for (size_t i = 0; i < AT_ONCE; i++) {
		struct running *r = &x->running[i];
		if (r->pid && (read_answer(r) || is_late(r))) {
			end(x, r, out);
			return true;
		}
		while (!r->pid && !failed && begin_next(x, r, out, &failed))
			;
		if (failed)
			return true;
	}
	if (x->examiner.pid && now_ns() - x->used_ns > IDLE_NS && !examinations_are_busy(x))
		spawn_end(&x->examiner);
	return false;
}

int examinations_fd(const struct examinations *x)
{
	return x->wake_fd;
}

void examinations_set_room(struct examinations *x, uint64_t bytes)
{
	x->room = bytes > ROOM_MIN ? bytes : ROOM_MIN;
}

bool examinations_are_busy(const struct examinations *x)
{
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (x->running[i].pid)
			return true;
	}
	return false;
}

void examinations_counts(const struct examinations *x, struct examinations_counts *out)
{
	*out = x->counts;
	out->waiting = x->queue_cnt;
}
