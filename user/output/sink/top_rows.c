/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/top_rows: processes, frames and stacks as lines of tab-separated, cleaned text, for `top`, which reads a new set
 * every second. A frame is written once, before its first use; frames are numbered from 0.
 *
 *   alys-feed 1
 *   when LAST_NS START_NS INTERVAL SAMPLED
 *   subject NUMBER
 *   ledger HITS RECORDED SKIPPED LOST
 *   lost STAGE COUNT
 *   off
 *   note SENTENCE
 *   process PID COMM EXE LIVE_BYTES LIVE_COUNT ALLOCATED_BYTES ALLOCATED_COUNT
 *   frame NAME FILE:LINE
 *   stack PID LIVE_BYTES LIVE_COUNT ALLOCATED_BYTES ALLOCATED_COUNT TYPE FRAME,FRAME,...
 *   error BYTES
 *   end
 *
 * "subject": see enum subject; omitted if these are allocations. "off": tracing is switched off in the daemon. "error": root of
 * what the live bytes of the process or stack in the line before add to the variance of a sum; omitted if 0. If there are too many
 * stacks, the smallest ones of each process are merged into one with the frame "[other]".
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/field_names.h"
#include "format/format.h"
#include "format/type.h"
#include "sink/registry.h"

#define FRAMES_MAX 64      /* innermost frames of a stack */
#define ROWS_STANDARD 5000 /* stacks, unless requested otherwise */

struct feed_process {
	struct proc_id proc;
	struct totals t, rest;       /* rest: rows merged into "[other]" */
	struct spread off, rest_off; /* deviations of their live bytes */
};

struct feed {
	const struct sink_input *in;
	struct buf *out;
	struct names frames;
	struct sink_stack whole, cut;
	struct feed_process *procs;
	size_t procs_cnt, procs_cap;
	struct map index; /* proc -> index in procs */
	uint32_t *rows;   /* indices in the snapshot, rows to be written first */
	size_t rows_cnt;  /* rows to be written */
};

static void put_totals(const struct feed *f, const struct totals *t)
{
	static const enum value order[] = { VALUE_INUSE_SPACE, VALUE_INUSE_OBJECTS, VALUE_ALLOC_SPACE, VALUE_ALLOC_OBJECTS };
	int64_t values[VALUE_CNT];
	format_values(f->in->catalog, t, values);
	for (size_t i = 0; i < VALUE_CNT; i++)
		buf_addf(f->out, "\t%" PRId64, values[order[i]]);
}

static void put_error(struct buf *out, const struct spread *off)
{
	double var = spread_added(off);
	if (var > 0)
		buf_addf(out, "error\t%.0f\n", ceil(sqrt(var)));
}

static int gather_processes(struct feed *f)
{
	for (size_t i = 0; i < f->in->snapshot->n; i++) {
		const struct snapshot_row *row = &f->in->snapshot->rows[i];
		uint64_t *place = map_put(&f->index, row->proc.n);
		struct feed_process *p = !place ? NULL : *place ? &f->procs[*place - 1] : VEC_PUSH(f, procs);
		if (!p)
			return -ENOMEM;
		if (!*place)
			*place = f->procs_cnt;
		p->proc = row->proc;
		totals_add(&p->t, &row->t);
		struct spread off = snapshot_spread(f->in->snapshot, i, LIVE_SZ);
		spread_add(&p->off, &off);
	}
	return 0;
}

static int by_weight(const void *a, const void *b, void *ctx)
{
	const struct snapshot_row *rows = ctx;
	const struct totals *x = &rows[*(const uint32_t *)a].t, *y = &rows[*(const uint32_t *)b].t;
	double vx = x->est_live_sz + x->est_alloc_sz / 16, vy = y->est_live_sz + y->est_alloc_sz / 16;
	if (vx != vy)
		return vx < vy ? 1 : -1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* If there are too many, chooses rows with most live bytes and rows with most allocated bytes. */
static int choose_rows(struct feed *f)
{
	size_t n = f->in->snapshot->n, top = f->in->options->top ? f->in->options->top : ROWS_STANDARD;
	f->rows = calloc(n + 1, sizeof(*f->rows));
	if (!f->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		f->rows[i] = (uint32_t)i;
	f->rows_cnt = n;
	if (top < n) {
		qsort_r(f->rows, n, sizeof(*f->rows), by_weight, f->in->snapshot->rows);
		f->rows_cnt = top;
	}
	return 0;
}

static void put_losses(struct feed *f)
{
	const struct count *n;
	for (size_t i = 0; (n = catalog_next_count(f->in->catalog, &i));) {
		if (n->class != COUNT_LOST || !n->value)
			continue;
		buf_adds(f->out, "lost\t");
		text_clean(f->out, n->name, SIZE_MAX);
		buf_addf(f->out, "\t%" PRIu64 "\n", n->value);
	}
}

static void put_head(struct feed *f)
{
	const struct catalog *c = f->in->catalog;
	const struct heap_facts *facts = &f->in->snapshot->facts;
	buf_adds(f->out, "alys-feed\t1\n");
	buf_addf(f->out, "when\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%d\n", facts->last_ns, facts->first_ns, format_interval(c),
		 facts->sampled);
	if (catalog_subject(c) != SUBJECT_ALLOCATIONS)
		buf_addf(f->out, "subject\t%d\n", catalog_subject(c));
	buf_addf(f->out, "ledger\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", catalog_sum(c, COUNT_HIT),
		 catalog_sum(c, COUNT_RECORDED), catalog_sum(c, COUNT_SKIPPED), catalog_sum(c, COUNT_LOST));
	put_losses(f);
	if (catalog_meta(c, "tracing"))
		buf_adds(f->out, "off\nnote\ttracing is off, and this stands still: `alys-bpf ctl on` begins anew\n");
	if (facts->lost_frees)
		buf_addf(f->out, "note\tlive is an upper bound: %" PRIu64 " %s lost\n", facts->lost_frees,
			 facts->lost_frees == 1 ? "free was" : "frees were");
	if (format_windows(c)) {
		buf_adds(f->out, "note\twindows: ");
		text_clean(f->out, format_windows(c), SIZE_MAX);
		buf_u8(f->out, '\n');
	}
	double below = format_below(c, &f->in->snapshot->all);
	if (below) {
		buf_adds(f->out, "note\tlive: ");
		format_none_sampled(below, f->out);
		buf_u8(f->out, '\n');
	}
	if (format_unseen_frees(c))
		buf_adds(f->out, "note\tlive is an upper bound: what the garbage collector frees is not recorded\n");
}

static void put_processes(struct feed *f)
{
	for (size_t i = 0; i < f->procs_cnt; i++) {
		const struct proc *p = catalog_proc(f->in->catalog, f->procs[i].proc);
		buf_addf(f->out, "process\t%u\t", p ? p->tgid : 0);
		text_clean(f->out, p && p->comm ? p->comm : "", SIZE_MAX);
		buf_adds(f->out, "\t");
		text_clean(f->out, p && p->exe ? p->exe : "", SIZE_MAX);
		put_totals(f, &f->procs[i].t);
		buf_adds(f->out, "\n");
		put_error(f->out, &f->procs[i].off);
	}
}

/* The frame's number; writes the frame if it is new. */
static bool frame_number(struct feed *f, const struct sink_frame *frame, uint32_t *out)
{
	struct buf line = { 0 };
	size_t before = f->frames.spans_cnt;
	sink_frame_name(frame, &line);
	buf_adds(&line, "\t");
	if (frame->symbol && frame->symbol->file) {
		text_clean(&line, frame->symbol->file, SIZE_MAX);
		if (frame->symbol->line)
			buf_addf(&line, ":%" PRIu32, frame->symbol->line);
	}
	*out = line.failed ? NAMES_FAILED : names_put(&f->frames, buf_str(&line), line.len);
	if (*out != NAMES_FAILED && f->frames.spans_cnt != before)
		buf_addf(f->out, "frame\t%s\n", buf_str(&line));
	buf_free(&line);
	return *out != NAMES_FAILED;
}

static int put_stack(struct feed *f, uint32_t place)
{
	const struct snapshot_row *row = &f->in->snapshot->rows[place];
	const struct proc *p = catalog_proc(f->in->catalog, row->proc);
	struct sink_options uncut = *f->in->options;
	struct buf type = { 0 };
	uint32_t numbers[FRAMES_MAX];
	size_t n = 0;
	uncut.keep_allocator_frames = true;
	uncut.skip = NULL;
	if (sink_stack_of(f->in->catalog, f->in->options, row->stack, &f->cut) ||
	    sink_stack_of(f->in->catalog, &uncut, row->stack, &f->whole))
		return -ENOMEM;
	while (n < f->cut.frames_cnt && n < FRAMES_MAX && frame_number(f, &f->cut.frames[n], &numbers[n]))
		n++;
	type_of(&f->whole, &type);
	buf_addf(f->out, "stack\t%u", p ? p->tgid : 0);
	put_totals(f, &row->t);
	buf_addf(f->out, "\t%s\t", buf_str(&type));
	for (size_t i = 0; i < n; i++)
		buf_addf(f->out, "%s%u", i ? "," : "", numbers[i]);
	buf_adds(f->out, "\n");
	struct spread off = snapshot_spread(f->in->snapshot, place, LIVE_SZ);
	put_error(f->out, &off);
	bool failed = type.failed || (n < f->cut.frames_cnt && n < FRAMES_MAX);
	buf_free(&type);
	return failed ? -ENOMEM : 0;
}

/* Writes what remains of each process besides the stacks written. */
static int put_rest(struct feed *f)
{
	static const struct symbol other = { .name = "[other]" };
	const struct sink_frame frame = { .symbol = &other };
	uint32_t number;
	for (size_t i = f->rows_cnt; i < f->in->snapshot->n; i++) {
		const struct snapshot_row *row = &f->in->snapshot->rows[f->rows[i]];
		const uint64_t *place = map_get(&f->index, row->proc.n);
		if (!place)
			continue;
		struct spread off = snapshot_spread(f->in->snapshot, f->rows[i], LIVE_SZ);
		totals_add(&f->procs[*place - 1].rest, &row->t);
		spread_add(&f->procs[*place - 1].rest_off, &off);
	}
	for (size_t i = 0; i < f->procs_cnt; i++) {
		const struct proc *p = catalog_proc(f->in->catalog, f->procs[i].proc);
		const struct totals *t = &f->procs[i].rest;
		if (t->est_alloc_cnt <= 0)
			continue;
		if (!frame_number(f, &frame, &number))
			return -ENOMEM;
		buf_addf(f->out, "stack\t%u", p ? p->tgid : 0);
		put_totals(f, t);
		buf_addf(f->out, "\t" NO_TYPE "\t%u\n", number);
		put_error(f->out, &f->procs[i].rest_off);
	}
	return 0;
}

static int write_lines(struct feed *f)
{
	int rc = gather_processes(f);
	if (!rc)
		rc = choose_rows(f);
	if (rc)
		return rc;
	put_head(f);
	put_processes(f);
	for (size_t i = 0; !rc && i < f->rows_cnt; i++)
		rc = put_stack(f, f->rows[i]);
	if (!rc)
		rc = put_rest(f);
	buf_adds(f->out, "end\n");
	return rc;
}

static int feed_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct buf b = { 0 };
	struct feed f = { .in = in, .out = &b };
	enum value v;
	int rc = value_choose(in->options, VALUE_INUSE_SPACE, &v, err);
	if (!rc && write_lines(&f))
		rc = err_set(err, ENOMEM, "out of memory for the stacks");
	if (!rc)
		rc = format_flush(out, &b, err);
	sink_stack_free(&f.whole);
	sink_stack_free(&f.cut);
	names_free(&f.frames);
	map_free(&f.index);
	free(f.procs);
	free(f.rows);
	buf_free(&b);
	return rc;
}

const struct sink_ops sink_feed = {
	.name = "feed",
	.ext = ".feed",
	.mime = "text/tab-separated-values; charset=utf-8",
	.render = feed_render,
};
