/* SPDX-License-Identifier: Apache-2.0 */
/* sink/output: see output.h. */
#include "sink/output.h"

#include <errno.h>
#include <string.h>

#include "access/outfile.h"
#include "base/log.h"
#include "base/text.h"

#define PIECE (1 << 18)

static int flush(struct output *o)
{
	if (!o->failed)
		o->failed = o->pending.failed ? -ENOMEM : outfile_write(o->fd, o->pending.data, o->pending.len);
	buf_reset(&o->pending);
	return o->failed;
}

static int take(void *ctx, const void *bytes, size_t n)
{
	struct output *o = ctx;
	buf_add(&o->pending, bytes, n);
	return o->pending.len >= PIECE || o->pending.failed ? flush(o) : o->failed;
}

struct sink_out output_sink(struct output *o)
{
	return (struct sink_out){ .write = take, .ctx = o };
}

int output_finish(struct output *o, int rc, struct err *err)
{
	/* If the sink failed by itself, the rest of its incomplete output is dropped. */
	int code = rc && !o->failed ? 0 : -flush(o);
	buf_free(&o->pending);
	if (!code)
		return rc;
	*err = (struct err){ 0 };
	return outfile_failed(o->path, code, err);
}

void output_say(const char *path, uint64_t size, const char *about)
{
	struct buf line = { 0 };
	if (!outfile_is_stdout(path)) {
		buf_addf(&line, "%s (", path);
		text_bytes(&line, (double)size);
		buf_addf(&line, ")%s", about ? ": " : "");
	}
	buf_adds(&line, about ?: "");
	if (line.len)
		log_at(LOG_NORMAL, "%s", buf_str(&line));
	buf_free(&line);
}
