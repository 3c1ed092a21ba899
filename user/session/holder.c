/* session/holder: see holder.h. */
#include "session/holder.h"

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
#include "intake/bell.h"
#include "session/live.h"

#define HELD_MAX 256
/* The files of the largest programs take about a second. */
#define PATIENCE_NS 5000000000ull

/* Threads that are held, and words that came before the call that they answer. */
struct held {
	struct alys_hold at[HELD_MAX];
	size_t cnt;
	struct alys_hold early[HELD_MAX];
	size_t early_cnt;
};

static void wait_for(int tid, int *status)
{
	while (waitpid(tid, status, __WALL) < 0 && errno == EINTR)
		;
}

/* A signal that was on its way is given on. Who has ended was waited for, or its parent would not hear of it. */
static void let_go(uint32_t tid)
{
	int status = 0;
	wait_for((int)tid, &status);
	bool by_us = status >> 16 == PTRACE_EVENT_STOP;
	if (WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)(by_us ? 0 : WSTOPSIG(status)));
}

static bool take_out(struct alys_hold *list, size_t *cnt, const struct alys_hold *h)
{
	for (size_t i = 0; i < *cnt; i++) {
		if (list[i].tid != h->tid || list[i].time != h->time)
			continue;
		list[i] = list[--*cnt];
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
	if (take_out(held->early, &held->early_cnt, call))
		let_go(call->tid);
	else
		held->at[held->cnt++] = *call;
}

static void on_word(struct held *held, struct bell *bell, const struct alys_hold *word)
{
	if (!take_out(held->at, &held->cnt, word)) {
		bell_drain(bell);
		if (!take_out(held->at, &held->cnt, word)) {
			held->early_cnt %= HELD_MAX; /* of calls that nobody could answer: the oldest words */
			held->early[held->early_cnt++] = *word;
			return;
		}
	}
	let_go(word->tid);
}

static void lose_patience(struct held *held, uint64_t now)
{
	for (size_t i = held->cnt; i-- > 0;) {
		struct alys_hold h = held->at[i];
		if (now - h.time < PATIENCE_NS)
			continue;
		take_out(held->at, &held->cnt, &h);
		let_go(h.tid);
	}
}

static void answer(int words, struct bell *bell, struct held *held)
{
	struct pollfd p[] = { { .fd = words, .events = POLLIN }, { .fd = bell_fd(bell), .events = POLLIN } };
	struct alys_hold word;
	for (;;) {
		int ready = poll(p, 2, held->cnt ? 1000 : -1);
		if (ready < 0 && errno != EINTR)
			break;
		bell_drain(bell);
		if (ready > 0 && p[0].revents) {
			if (recv(words, &word, sizeof(word), 0) != (ssize_t)sizeof(word))
				break;
			on_word(held, bell, &word);
		}
		lose_patience(held, now_ns());
	}
	while (held->cnt)
		let_go(held->at[--held->cnt].tid);
}

/* Threads wait for it at work, for a moment only: it comes at once, and to a processor of the other parity. */
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

/* Nothing of ours but the socket and the ring: another descriptor kept here would keep the probes alive. */
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
	struct bell *bell = bell_new(1, on_call, &held, &err);
	if (bell)
		answer(0, bell, &held);
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
	return err_set(err, code, "cannot start the process that holds programs at their beginning: %s", strerror(code));
}

void holder_release(struct holder *h, uint32_t tid, uint64_t time_ns)
{
	const struct alys_hold word = { .time = time_ns, .tid = tid };
	if (h->pid && send(h->fd, &word, sizeof(word), MSG_NOSIGNAL) < 0)
		return; /* it is gone: nobody is held */
}

void holder_stop(struct holder *h)
{
	if (!h->pid)
		return;
	close(h->fd);
	waitpid(h->pid, NULL, 0);
	h->pid = 0;
}
