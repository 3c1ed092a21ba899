/* SPDX-License-Identifier: Apache-2.0 */
/* sink/text_table: the top allocation sites as a text table. A site is the innermost line outside of the allocator. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/field_names.h"
#include "format/format.h"
#include "sink/registry.h"

#define COLUMNS 4

struct site {
	uint32_t label; /* "function  (file:line)", in names */
	struct totals t;
};

struct sites {
	struct names labels;
	struct site *at; /* one per label, in the same order until sorted */
	size_t at_cnt, at_cap;
	enum value by;
};

static const enum value columns[COLUMNS] = {
	VALUE_INUSE_SPACE,
	VALUE_INUSE_OBJECTS,
	VALUE_ALLOC_SPACE,
	VALUE_ALLOC_OBJECTS,
};

static void put_label(struct buf *b, const struct sink_frame *f)
{
	sink_frame_name(f, b);
	if (!f->symbol || !f->symbol->file)
		return;
	buf_adds(b, "  ");
	text_clean(b, f->symbol->file, SIZE_MAX);
	if (f->symbol->line)
		buf_addf(b, ":%" PRIu32, f->symbol->line);
}

static int gather(struct sites *s, const struct sink_input *in)
{
	struct sink_stack stack = { 0 };
	struct buf b = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < in->snapshot->n; i++) {
		const struct snapshot_row *row = &in->snapshot->rows[i];
		buf_reset(&b);
		ok = !sink_stack_of(in->catalog, in->options, row->stack, &stack);
		if (ok)
			put_label(&b, &stack.frames[0]);
		uint32_t label = ok && !b.failed ? names_put(&s->labels, b.data, b.len) : NAMES_FAILED;
		struct site *site = label < s->at_cnt ? &s->at[label] : NULL;
		if (!site && label != NAMES_FAILED)
			site = VEC_PUSH(s, at);
		ok = site;
		if (ok) {
			site->label = label;
			totals_add(&site->t, &row->t);
		}
	}
	sink_stack_free(&stack);
	buf_free(&b);
	return ok ? 0 : -ENOMEM;
}

static int compare_sites(const void *a, const void *b, void *ctx)
{
	const struct sites *s = ctx;
	const struct site *x = a, *y = b;
	int64_t vx = value_of(&x->t, s->by), vy = value_of(&y->t, s->by);
	if (vx != vy)
		return vx < vy ? 1 : -1;
	return strcmp(names_at(&s->labels, x->label), names_at(&s->labels, y->label));
}

static void put_row(struct buf *b, const struct totals *t, const char *label)
{
	static const int widths[COLUMNS] = { 18, 14, 20, 16 };
	for (int i = 0; i < COLUMNS; i++) {
		struct buf cell = { 0 };
		text_count(&cell, (uint64_t)value_of(t, columns[i]));
		buf_addf(b, "%*s", widths[i], buf_str(&cell));
		buf_free(&cell);
	}
	buf_adds(b, "  ");
	buf_adds(b, label);
	buf_u8(b, '\n');
}

static void put_table(struct buf *b, const struct sink_input *in, const struct sites *s)
{
	size_t top = in->options->top && in->options->top < s->at_cnt ? in->options->top : s->at_cnt;
	const char *estimated = in->snapshot->facts.sampled ? " (estimated)" : "";
	buf_addf(b, "%18s%14s%20s%16s  allocation site%s\n", "live bytes", "live count", "allocated bytes", "allocated count",
		 estimated);
	for (size_t i = 0; i < top; i++)
		put_row(b, &s->at[i].t, names_at(&s->labels, s->at[i].label));
	if (top < s->at_cnt) {
		struct totals rest = { 0 };
		char label[64];
		for (size_t i = top; i < s->at_cnt; i++)
			totals_add(&rest, &s->at[i].t);
		snprintf(label, sizeof(label), "[other sites: %zu]", s->at_cnt - top);
		put_row(b, &rest, label);
	}
	put_row(b, &in->snapshot->all, "[total]");
	buf_u8(b, '\n');
	if (!in->options->from_ns && !in->options->until_ns)
		format_before_note(in->catalog, b);
	format_notes(in, b);
	format_errors(in, b);
}

static int text_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct sites s = { 0 };
	struct buf b = { 0 };
	/* If frees are not recorded, live bytes only grow, so sites are ranked by allocated bytes. */
	enum value standard = format_unseen_frees(in->catalog) ? VALUE_ALLOC_SPACE : value_standard(in);
	int rc = value_choose(in->options, standard, &s.by, err);
	if (!rc && gather(&s, in))
		rc = err_set(err, ENOMEM, "out of memory for the allocation sites");
	if (!rc) {
		if (s.at_cnt)
			qsort_r(s.at, s.at_cnt, sizeof(*s.at), compare_sites, &s);
		put_table(&b, in, &s);
		rc = format_flush(out, &b, err);
	}
	buf_free(&b);
	names_free(&s.labels);
	free(s.at);
	return rc;
}

const struct sink_ops sink_text = {
	.name = "text",
	.ext = ".txt",
	.mime = "text/plain; charset=utf-8",
	.render = text_render,
};
