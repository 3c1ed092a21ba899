/* session/keeper: see keeper.h. */
#include "session/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SILENCE_MS 2000
/* The kernel takes our probes away a moment after we are gone: until then they may stop a target again. */
#define FAREWELL_ROUNDS 100
#define FAREWELL_PAUSE_US 20000
/* An orderly end: stops were forbidden before, only one that was on its way may still come. */
#define FAREWELL_SHORT 5
#define WORD_END UINT32_MAX
#define MAX_KEPT 1024

struct kept {
	int pidfds[MAX_KEPT];
	uint32_t tgids[MAX_KEPT];
	size_t cnt;
};

/* The state letter in /proc/PID/stat, behind the command's name in parentheses. */
static bool is_stopped(uint32_t tgid)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *state = strrchr(text, ')');
	return state && !strncmp(state, ") T", 3);
}

static void continue_all(const struct kept *k)
{
	for (size_t i = 0; i < k->cnt; i++) {
		if (is_stopped(k->tgids[i]))
			syscall(SYS_pidfd_send_signal, k->pidfds[i], SIGCONT, NULL, 0);
	}
}

static void take_in(struct kept *k, uint32_t tgid)
{
	for (size_t i = 0; i < k->cnt; i++) {
		if (k->tgids[i] == tgid)
			return;
	}
	int fd = k->cnt < MAX_KEPT ? (int)syscall(SYS_pidfd_open, tgid, 0) : -1;
	if (fd < 0)
		return;
	k->tgids[k->cnt] = tgid;
	k->pidfds[k->cnt++] = fd;
}

static void keep(int in)
{
	static struct kept kept;
	struct pollfd p = { .fd = in, .events = POLLIN };
	int rounds = FAREWELL_ROUNDS;
	uint32_t word;
	for (;;) {
		int ready = poll(&p, 1, SILENCE_MS);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0) {
			continue_all(&kept);
			continue;
		}
		ssize_t n = read(in, &word, sizeof(word));
		if (n != (ssize_t)sizeof(word))
			break;
		if (word == WORD_END)
			rounds = FAREWELL_SHORT;
		else if (word)
			take_in(&kept, word);
	}
	for (int i = 0; i < rounds; i++) {
		continue_all(&kept);
		usleep(FAREWELL_PAUSE_US);
	}
}

/* Nothing of ours but the pipe: a descriptor kept here would keep the probes alive. */
static void keeper_main(int in) __attribute__((noreturn));
static void keeper_main(int in)
{
	dup2(in, 0);
	close_range(1, ~0u, 0);
	setsid();
	prctl(PR_SET_NAME, "alys-keeper");
	for (int s = 1; s < 32; s++)
		signal(s, SIG_IGN);
	keep(0);
	_exit(0);
}

int keeper_start(struct keeper *k, struct err *err)
{
	int ends[2];
	*k = (struct keeper)KEEPER_NONE;
	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, errno, "pipe: %s", strerror(errno));
	k->pid = fork();
	if (k->pid == 0) {
		close(ends[1]);
		keeper_main(ends[0]);
	}
	close(ends[0]);
	k->fd = ends[1];
	if (k->pid > 0)
		return 0;
	close(k->fd);
	k->fd = -1;
	return err_set(err, errno, "cannot start the process that lets stopped targets go on: %s", strerror(errno));
}

static void say(struct keeper *k, uint32_t word)
{
	if (k->fd >= 0 && write(k->fd, &word, sizeof(word)) < 0)
		return; /* it is gone: nobody else would miss it */
}

void keeper_add(struct keeper *k, uint32_t tgid)
{
	say(k, tgid);
}

void keeper_beat(struct keeper *k)
{
	say(k, 0);
}

void keeper_stop(struct keeper *k)
{
	if (k->fd < 0)
		return;
	say(k, WORD_END);
	close(k->fd);
	k->fd = -1;
	waitpid(k->pid, NULL, 0);
}
