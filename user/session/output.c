/* session/output: see output.h. */
#include "session/output.h"

#include <errno.h>
#include <string.h>

#include "base/outfile.h"

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
	int flushed = flush(o);
	buf_free(&o->pending);
	return rc || !flushed ? rc : err_set(err, -flushed, "cannot write: %s", strerror(-flushed));
}
