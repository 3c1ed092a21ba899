/* SPDX-License-Identifier: Apache-2.0 */
/* base/log: see log.h. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"

/* with every byte escaped, and with the prefix, a line is shorter than PIPE_BUF */
#define RAW_MAX 1000

static enum log_level limit = LOG_NORMAL;
static bool nonblocking;
/* Atomic, because several threads log. */
static _Atomic uint64_t lost, told;

void log_set_level(enum log_level level)
{
	limit = level;
}

enum log_level log_get_level(void)
{
	return limit;
}

void log_never_wait(void)
{
	nonblocking = true;
}

uint64_t log_lost(void)
{
	return lost;
}

/* A pipe is not made non-blocking, because others share it. A writable pipe has room for PIPE_BUF bytes. */
static bool has_room(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	return poll(&p, 1, 0) > 0 && p.revents == POLLOUT;
}

static void put(const char *line)
{
	if (nonblocking && !has_room()) {
		lost++;
		return;
	}
	uint64_t now = lost, missing = now - told;
	told = now;
	if (missing)
		fprintf(stderr, "alys-bpf: %" PRIu64 " lines before this one were lost: nobody read them\nalys-bpf: %s\n",
			missing, line);
	else
		fprintf(stderr, "alys-bpf: %s\n", line);
}

void log_at(enum log_level level, const char *fmt, ...)
{
	if (level > limit)
		return;
	int saved = errno;
	char raw[RAW_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);

	struct buf line = { 0 };
	text_clean(&line, raw, sizeof(raw));
	put(buf_str(&line));
	buf_free(&line);
	errno = saved;
}
