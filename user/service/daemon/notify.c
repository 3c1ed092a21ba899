/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify: see notify.h. */
#include "daemon/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

static const char *const states[NOTIFY_CNT] = {
	[NOTIFY_READY] = "READY=1",         [NOTIFY_ON] = "STATUS=tracing",   [NOTIFY_OFF] = "STATUS=off",
	[NOTIFY_RELOADING] = "RELOADING=1", [NOTIFY_STOPPING] = "STOPPING=1", [NOTIFY_ALIVE] = "WATCHDOG=1",
};

static int (*through)(void *ctx, int what);
static void *through_ctx;

void notify_through(int (*tell)(void *ctx, int what), void *ctx)
{
	through = tell;
	through_ctx = ctx;
}

static void say(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	if (!n || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (*path == '@')
		to.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to, len) < 0)
		log_info("NOTIFY_SOCKET: %s", strerror(errno));
	close(fd);
}

void notify(enum notify what)
{
	if (through)
		through(through_ctx, what);
	else if (what < NOTIFY_CNT)
		say(states[what]);
}

uint64_t notify_watchdog_us(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	if (!us ||
	    (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid() && strtoul(pid, NULL, 10) != (unsigned long)getppid()))
		return 0;
	return strtoull(us, NULL, 10);
}
