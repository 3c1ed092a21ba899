/* SPDX-License-Identifier: Apache-2.0 */
/* launch/holder: see holder.h. */
#include "launch/holder.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alys.h"
#include "base/clock.h"
#include "intake/wakeup.h"

#define HELD_MAX 256
/* Threads that are held, perhaps already released; and releases that arrived before the request for their thread. */
struct held {
	struct holding {
		struct alys_hold call;
		bool over;
	} at[HELD_MAX];
	size_t cnt;
	struct alys_hold early[HELD_MAX];
	size_t early_cnt;
};

/*
 * False: it has not stopped yet, for instance because it sleeps in the kernel; waiting for it would delay the others. A
 * pending signal is delivered. If it has ended, it was waited for here, since its parent would not be notified
 * otherwise.
 */
static bool release_thread(uint32_t tid)
{
	int status = 0;
	pid_t got = waitpid((pid_t)tid, &status, __WALL | WNOHANG);
	bool by_us = status >> 16 == PTRACE_EVENT_STOP;
	if (got > 0 && WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)(by_us ? 0 : WSTOPSIG(status)));
	return got;
}

static bool is_same(const struct alys_hold *a, const struct alys_hold *b)
{
	return a->tid == b->tid && a->time == b->time;
}

static bool take_early(struct held *held, const struct alys_hold *call)
{
	for (size_t i = 0; i < held->early_cnt; i++) {
		if (!is_same(&held->early[i], call))
			continue;
		held->early[i] = held->early[--held->early_cnt];
		return true;
	}
	return false;
}

static void on_call(void *ctx, const void *record, size_t size)
{
	struct held *held = ctx;
	const struct alys_hold *call = record;
	if (size < sizeof(*call) || held->cnt == HELD_MAX || ptrace(PTRACE_SEIZE, call->tid, NULL, NULL))
		return;
	ptrace(PTRACE_INTERRUPT, call->tid, NULL, NULL);
	held->at[held->cnt++] = (struct holding){ *call, take_early(held, call) };
}

static bool end_hold(struct held *held, const struct alys_hold *word)
{
	for (size_t i = 0; i < held->cnt; i++) {
		if (!is_same(&held->at[i].call, word))
			continue;
		held->at[i].over = true;
		return true;
	}
	return false;
}

static void on_word(struct held *held, struct wakeup *wakeup, const struct alys_hold *word)
{
	if (end_hold(held, word))
		return;
	wakeup_drain(wakeup);
	if (end_hold(held, word))
		return;
	held->early_cnt %= HELD_MAX; /* releases of threads that could not be held: overwrites the oldest */
	held->early[held->early_cnt++] = *word;
}

/* Resumes released threads; returns how long to wait for the next message, in ms. */
static int release_done(struct held *held, uint64_t now)
{
	int wait = held->cnt ? 1000 : -1;
	for (size_t i = held->cnt; i-- > 0;) {
		struct holding *h = &held->at[i];
		h->over |= now - h->call.time >= HOLDER_LIMIT_NS;
		if (h->over && release_thread(h->call.tid))
			*h = held->at[--held->cnt];
		else if (h->over)
			wait = 1;
	}
	return wait;
}

/* The kernel resumes threads that are still held when this process ends. */
static void answer(int words, struct wakeup *wakeup, struct held *held)
{
	struct pollfd p[] = { { .fd = words, .events = POLLIN }, { .fd = wakeup_fd(wakeup), .events = POLLIN } };
	struct alys_hold word;
	for (int wait = -1;; wait = release_done(held, now_ns())) {
		int ready = poll(p, 2, wait);
		if (ready < 0 && errno != EINTR)
			return;
		wakeup_drain(wakeup);
		if (ready > 0 && p[0].revents) {
			if (recv(words, &word, sizeof(word), 0) != (ssize_t)sizeof(word))
				return;
			on_word(held, wakeup, &word);
		}
	}
}

/* Threads wait for the holder, spinning, and only for a moment: it needs a high priority, and a CPU of the other parity. */
static void hurry(bool odd)
{
	const struct sched_param first = { .sched_priority = 1 };
	cpu_set_t all = { 0 }, others;
	CPU_ZERO(&others);
	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &all) && (i & 1) != odd)
			CPU_SET(i, &others);
	}
	sched_setaffinity(0, sizeof(others), &others);
	if (sched_setscheduler(0, SCHED_RR, &first))
		setpriority(PRIO_PROCESS, 0, -20);
}

/* Keeps only the socket and the ring: any other descriptor would keep the probes attached. */
static void holder_main(int words, int ring, bool odd) __attribute__((noreturn));
static void holder_main(int words, int ring, bool odd)
{
	static struct held held;
	struct err err;
	dup2(words, 0);
	dup2(ring, 1);
	close_range(2, ~0u, 0);
	setsid();
	prctl(PR_SET_NAME, "alys-holder");
	for (int s = 1; s < 32; s++)
		signal(s, s == SIGCHLD ? SIG_DFL : SIG_IGN);
	hurry(odd);
	struct wakeup *wakeup = wakeup_new(1, on_call, &held, &err);
	if (wakeup)
		answer(0, wakeup, &held);
	_exit(0);
}

int holder_start(struct holder *h, int ring, bool odd, struct err *err)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return err_set(err, errno, "socketpair: %s", strerror(errno));
	h->pid = fork();
	if (h->pid == 0) {
		close(ends[1]);
		holder_main(ends[0], ring, odd);
	}
	int code = errno;
	close(ends[0]);
	h->fd = ends[1];
	if (h->pid > 0)
		return 0;
	close(h->fd);
	h->pid = 0;
	return err_set(err, code, "cannot start the process that stops programs at their start: %s", strerror(code));
}

void holder_release(struct holder *h, uint32_t tid, uint64_t time_ns)
{
	const struct alys_hold word = { .time = time_ns, .tid = tid };
	if (h->pid && send(h->fd, &word, sizeof(word), MSG_NOSIGNAL) < 0)
		return; /* the holder has died: no thread is held */
}

void holder_stop(struct holder *h)
{
	if (!h->pid)
		return;
	close(h->fd);
	waitpid(h->pid, NULL, 0);
	h->pid = 0;
}
