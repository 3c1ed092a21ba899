/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/stops: see stops.h. Also used by the watchdog, which has nothing but a map and a pipe. */
#include "liveness/stops.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sites/collections.h"

#define STATUS_SZ 4096
#define LOOKS 20
#define LOOK_PAUSE_US 200
#define STOP_SIGNALS (1ull << (SIGSTOP - 1) | 1ull << (SIGTSTP - 1) | 1ull << (SIGTTIN - 1) | 1ull << (SIGTTOU - 1))

static bool read_status(uint32_t tgid, char *out)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tgid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, STATUS_SZ - 1) : -1;
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

/*
 * A stopped process takes no signals, so a further stop signal stays pending. If there is one, only one of the two
 * stops is ours, and SIGCONT would cancel both. A pending signal may be just about to be taken: look again.
 */
static bool is_stopped_twice(uint32_t tgid)
{
	char status[STATUS_SZ];
	for (int i = 0; i < LOOKS && read_status(tgid, status); i++) {
		const char *state = strstr(status, "\nState:\t"), *pending = strstr(status, "\nShdPnd:\t");
		if (!state || !pending || !(strtoull(pending + 9, NULL, 16) & STOP_SIGNALS))
			return false;
		if (state[8] == 'T')
			return true;
		usleep(LOOK_PAUSE_US);
	}
	return false;
}

void stops_end(int states, uint32_t tgid, int pidfd, uint32_t *over)
{
	uint32_t stop = (uint32_t)probe_last_stop(states, tgid);
	if (!stop || stop == *over)
		return;
	*over = stop;
	if (is_stopped_twice(tgid))
		return;
	if (pidfd >= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
	else
		kill((pid_t)tgid, SIGCONT);
}
