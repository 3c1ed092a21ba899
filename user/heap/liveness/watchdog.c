/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/watchdog: see watchdog.h. */
#include "liveness/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "liveness/stops.h"

#define REPLY_TIMEOUT_MS 2000
/* The kernel removes our probes a moment after our exit: until then they may stop a target again. */
#define EXIT_ROUNDS 100
#define EXIT_PAUSE_US 20000
/* After an orderly end: stops were disabled before, so only one already under way can still happen. */
#define EXIT_ROUNDS_ORDERLY 5
#define MESSAGE_END UINT32_MAX
#define MAX_TARGETS 1024

struct targets {
	int states; /* map that shows which processes we stopped */
	int pidfds[MAX_TARGETS];
	uint32_t tgids[MAX_TARGETS], over[MAX_TARGETS];
	size_t cnt;
};

/* Sent through the pipe: smaller than PIPE_BUF, so written atomically. */
struct message {
	uint32_t tgid; /* 0: heartbeat; MESSAGE_END: exit */
	uint32_t over; /* see stops_end */
};

static void continue_all(struct targets *k)
{
	for (size_t i = 0; i < k->cnt; i++)
		stops_end(k->states, k->tgids[i], k->pidfds[i], &k->over[i]);
}

static void drop_ended(struct targets *k)
{
	size_t left = 0;
	for (size_t i = 0; i < k->cnt; i++) {
		struct pollfd p = { .fd = k->pidfds[i], .events = POLLIN };
		if (poll(&p, 1, 0) > 0) {
			close(k->pidfds[i]);
			continue;
		}
		k->pidfds[left] = k->pidfds[i];
		k->tgids[left] = k->tgids[i];
		k->over[left++] = k->over[i];
	}
	k->cnt = left;
}

/* The tgid may have been reused, so ended processes are dropped first. */
static void add_target(struct targets *k, const struct message *w)
{
	drop_ended(k);
	for (size_t i = 0; i < k->cnt; i++) {
		if (k->tgids[i] != w->tgid)
			continue;
		k->over[i] = w->over;
		return;
	}
	int fd = k->cnt < MAX_TARGETS ? (int)syscall(SYS_pidfd_open, w->tgid, 0) : -1;
	if (fd < 0)
		return;
	k->tgids[k->cnt] = w->tgid;
	k->over[k->cnt] = w->over;
	k->pidfds[k->cnt++] = fd;
}

static void watch(int in, int states)
{
	static struct targets targets;
	struct pollfd p = { .fd = in, .events = POLLIN };
	int rounds = EXIT_ROUNDS;
	struct message message;
	targets.states = states;
	for (;;) {
		int ready = poll(&p, 1, REPLY_TIMEOUT_MS);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0) {
			continue_all(&targets);
			continue;
		}
		ssize_t n = read(in, &message, sizeof(message));
		if (n != (ssize_t)sizeof(message))
			break;
		if (message.tgid == MESSAGE_END)
			rounds = EXIT_ROUNDS_ORDERLY;
		else if (message.tgid)
			add_target(&targets, &message);
	}
	for (int i = 0; i < rounds; i++) {
		continue_all(&targets);
		usleep(EXIT_PAUSE_US);
	}
}

/* Keeps only the pipe and one map: any other descriptor could keep the probes attached. */
static void watchdog_main(int in, int states) __attribute__((noreturn));
static void watchdog_main(int in, int states)
{
	dup2(in, 0);
	dup2(states, 1);
	close_range(2, ~0u, 0);
	setsid();
	prctl(PR_SET_NAME, "alys-keeper");
	for (int s = 1; s < 32; s++)
		signal(s, SIG_IGN);
	watch(0, 1);
	_exit(0);
}

int watchdog_start(struct watchdog *k, int states, struct err *err)
{
	int ends[2];
	*k = (struct watchdog)WATCHDOG_NONE;
	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, errno, "pipe: %s", strerror(errno));
	k->pid = fork();
	if (k->pid == 0) {
		close(ends[1]);
		watchdog_main(ends[0], states);
	}
	close(ends[0]);
	k->fd = ends[1];
	/* The mark reader must not block on the watchdog: a message that finds the pipe full can be dropped. */
	if (k->pid > 0 && !fcntl(k->fd, F_SETFL, O_NONBLOCK))
		return 0;
	close(k->fd);
	k->fd = -1;
	return err_set(err, errno, "cannot start the watchdog for stopped targets: %s", strerror(errno));
}

static void send_message(struct watchdog *k, uint32_t tgid, uint32_t over)
{
	const struct message message = { tgid, over };
	if (k->fd >= 0 && write(k->fd, &message, sizeof(message)) < 0)
		return; /* the watchdog is gone; recording goes on without it */
}

void watchdog_add(struct watchdog *k, uint32_t tgid, uint32_t over)
{
	send_message(k, tgid, over);
}

void watchdog_beat(struct watchdog *k)
{
	send_message(k, 0, 0);
}

void watchdog_stop(struct watchdog *k)
{
	if (k->fd < 0)
		return;
	send_message(k, MESSAGE_END, 0);
	close(k->fd);
	k->fd = -1;
	waitpid(k->pid, NULL, 0);
}
