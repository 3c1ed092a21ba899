/* SPDX-License-Identifier: Apache-2.0 */
/* naming/progress: see progress.h. */
#include "naming/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define TIMEOUT_NS 1000000000ull
#define REDRAW_NS 200000000ull
#define WIDTH 30

struct progress progress_begin(const char *what)
{
	return (struct progress){ .what = what, .begun_ns = now_ns() };
}

void progress_step(void *ctx, uint64_t done, uint64_t total)
{
	struct progress *p = ctx;
	uint64_t now = now_ns();
	if (now - p->begun_ns < TIMEOUT_NS || now - p->shown_ns < REDRAW_NS || !total || log_get_level() < LOG_NORMAL ||
	    !isatty(STDERR_FILENO))
		return;
	p->shown_ns = now;
	p->on_screen = true;
	int full = (int)(done * WIDTH / total);
	fprintf(stderr, "\r%s [%.*s%*s] %3" PRIu64 "%%", p->what, full, "##############################", WIDTH - full, "",
		done * 100 / total);
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->on_screen)
		fprintf(stderr, "\r\033[K");
}
