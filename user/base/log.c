/* base/log: see log.h. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"

static enum log_level limit = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	limit = level;
}

enum log_level log_get_level(void)
{
	return limit;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	if (level > limit)
		return;
	int saved = errno;
	char raw[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);

	struct buf line = { 0 };
	text_clean(&line, raw, sizeof(raw));
	fprintf(stderr, "alys-bpf: %s\n", buf_str(&line));
	buf_free(&line);
	errno = saved;
}
