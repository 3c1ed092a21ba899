/* SPDX-License-Identifier: Apache-2.0 */
/* sink/folded: one line per stack, "root;...;leaf VALUE", the input of flame graph programs. */
#include <errno.h>
#include <inttypes.h>

#include "format/fold.h"
#include "sink/registry.h"

#define FLUSH_SZ (64 * 1024)

/* Replaces ';', which the format uses as separator; names contain no newlines. */
static void put_name(struct buf *b, const char *name)
{
	for (; *name; name++)
		buf_u8(b, *name == ';' ? ':' : (uint8_t)*name);
}

static void put_stack(struct buf *b, const struct fold *f, const struct fold_stack *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (i)
			buf_u8(b, ';');
		put_name(b, fold_name(f, f->frames[s->first + i]));
	}
	buf_addf(b, " %" PRId64 "\n", s->value);
}

static int folded_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct fold f = { 0 };
	struct buf b = { 0 };
	enum value v;
	int rc = value_choose(in->options, VALUE_ALLOC_SPACE, &v, err);
	if (!rc && fold_fill(&f, in, v))
		rc = err_set(err, ENOMEM, "out of memory for the stacks");
	if (!rc) {
		fold_merge(&f);
		fold_rank(&f);
	}
	for (size_t i = 0; !rc && i < f.stacks_cnt; i++) {
		put_stack(&b, &f, &f.stacks[i]);
		if (b.len >= FLUSH_SZ)
			rc = format_flush(out, &b, err);
	}
	if (!rc)
		rc = format_flush(out, &b, err);
	buf_free(&b);
	fold_free(&f);
	return rc;
}

const struct sink_ops sink_folded = {
	.name = "folded-stacks",
	.ext = ".folded",
	.mime = "text/plain; charset=utf-8",
	.render = folded_render,
};
