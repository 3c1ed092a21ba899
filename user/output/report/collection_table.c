/* SPDX-License-Identifier: Apache-2.0 */
/* report/collection_table: see collection_table.h. */
#include "report/collection_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "report/facts.h"
#include "report/frames.h"
#include "report/rank.h"
#include "report/sheet.h"

static int add_collection(struct collection_list *l, const struct event *e, uint64_t net_sz)
{
	struct collection_row *r = VEC_PUSH(l, rows);
	if (!r)
		return -ENOMEM;
	*r = (struct collection_row){ *e, net_sz };
	return 0;
}

int collections_note(struct collection_list *l, const struct event *e, const struct applied *a)
{
	bool begins = e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC;
	if ((!begins && e->kind != EVENT_FREE && e->kind != EVENT_GC) || e->flags & (EVENT_F_BY_GC | EVENT_F_CARRIED))
		return 0;
	uint64_t *net = map_put(&l->net_sz, e->proc.n);
	if (!net)
		return -ENOMEM;
	if (e->kind == EVENT_GC)
		return add_collection(l, e, *net);
	if (begins)
		*net += (uint64_t)(a->weight * (double)e->size);
	uint64_t freed = (uint64_t)(a->weight * (double)a->prev_size);
	*net -= freed < *net ? freed : *net;
	return 0;
}

void collection_list_free(struct collection_list *l)
{
	free(l->rows);
	map_free(&l->net_sz);
	*l = (struct collection_list){ 0 };
}

/* Live after the previous collection, plus allocated since, minus live now. */
static double heap_reclaimed(const struct collection_list *l, size_t i)
{
	const struct collection_row *r = &l->rows[i], *before = NULL;
	for (size_t k = i; k-- > 0 && !before;) {
		if (l->rows[k].event.proc.n == r->event.proc.n && l->rows[k].event.gc.live_sz)
			before = &l->rows[k];
	}
	if (!before || !r->event.gc.live_sz)
		return 0;
	double gone =
		(double)before->event.gc.live_sz + ((double)r->net_sz - (double)before->net_sz) - (double)r->event.gc.live_sz;
	return gone > 0 ? gone : 0;
}

struct filling {
	const struct report_input *in;
	const struct collection_list *list;
	struct sink_options display;
	struct sheet sheet;
	struct names texts;
	struct sink_stack stack;
	struct buf text;
};

static int put_site(struct filling *f, const struct event *e, struct cell *cell)
{
	buf_reset(&f->text);
	if (sink_stack_of(f->in->catalog, &f->display, e->stack, &f->stack))
		return -ENOMEM;
	frame_site(f->stack.frames, &f->text);
	cell->text = f->text.failed ? NAMES_FAILED : names_put(&f->texts, f->text.data, f->text.len);
	return cell->text == NAMES_FAILED ? -ENOMEM : 0;
}

enum { COL_NO, COL_AT, COL_TOOK, COL_PAUSE, COL_HEAP, COL_LIVE, COL_CNT, COL_SZ, COL_GONE, COL_SITE };

static int put_row(struct filling *f, size_t i)
{
	const struct event *e = &f->list->rows[i].event;
	struct cell *row = sheet_add_row(&f->sheet);
	if (!row)
		return -ENOMEM;
	row[COL_NO].number = e->gc_no;
	row[COL_AT].number = ((double)e->enter_ns - (double)f->in->start_ns) / 1e9;
	row[COL_TOOK].number = ((double)e->time_ns - (double)e->enter_ns) / 1e6;
	row[COL_PAUSE].number = (double)e->gc.pause_ns / 1e6;
	row[COL_HEAP].number = (double)e->gc.heap_sz;
	row[COL_LIVE].number = (double)e->gc.live_sz;
	row[COL_CNT].number = (double)e->gc.dead_cnt;
	row[COL_SZ].number = (double)e->gc.dead_sz;
	row[COL_GONE].number = heap_reclaimed(f->list, i);
	return put_site(f, e, &row[COL_SITE]);
}

static void add_total(struct filling *f, size_t i)
{
	const struct event *e = &f->list->rows[i].event;
	struct cell *t = f->sheet.total;
	t[COL_NO].number++;
	t[COL_AT].number = ((double)e->time_ns - (double)f->in->start_ns) / 1e9;
	t[COL_TOOK].number += ((double)e->time_ns - (double)e->enter_ns) / 1e6;
	t[COL_PAUSE].number += (double)e->gc.pause_ns / 1e6;
	if (e->gc.heap_sz) { /* from the last collection that has it */
		t[COL_HEAP].number = (double)e->gc.heap_sz;
		t[COL_LIVE].number = (double)e->gc.live_sz;
	}
	t[COL_CNT].number += (double)e->gc.dead_cnt;
	t[COL_SZ].number += (double)e->gc.dead_sz;
	t[COL_GONE].number += heap_reclaimed(f->list, i);
	f->sheet.has_total = true;
}

static void add_columns(struct sheet *t)
{
	sheet_add_column(t, "GC", "gc_no", COLUMN_COUNT);
	sheet_add_column(t, "At s", "time", COLUMN_SECONDS);
	sheet_add_column(t, "Took ms", "took_ms", COLUMN_SECONDS);
	sheet_add_column(t, "Pause ms", "pause_ms", COLUMN_SECONDS);
	sheet_add_column(t, "Heap bytes", "heap_bytes", COLUMN_BYTES);
	sheet_add_column(t, "In use", "heap_live_bytes", COLUMN_BYTES);
	sheet_add_column(t, "Reclaimed", "reclaimed_count", COLUMN_COUNT);
	sheet_add_column(t, "Bytes", "reclaimed_bytes", COLUMN_BYTES);
	sheet_add_column(t, "Of all", "heap_reclaimed_bytes", COLUMN_BYTES);
	sheet_add_column(t, "Triggered by", "site", COLUMN_TEXT);
}

static bool is_wanted(const struct filling *f, const struct report_options *o, size_t i)
{
	const struct proc *p = o->pid ? catalog_proc(f->in->catalog, f->list->rows[i].event.proc) : NULL;
	return !o->pid || (p && p->tgid == o->pid);
}

/* If there are more than requested, the newest are shown; totals include all. */
static int fill(struct filling *f, const struct report_options *o)
{
	size_t wanted = 0, passed = 0, limit = rank_limit(o);
	int rc = 0;
	for (size_t i = 0; i < f->list->rows_cnt; i++)
		wanted += is_wanted(f, o, i);
	for (size_t i = 0; i < f->list->rows_cnt && !rc; i++) {
		if (!is_wanted(f, o, i))
			continue;
		add_total(f, i);
		if (limit >= wanted || ++passed > wanted - limit)
			rc = put_row(f, i);
	}
	if (wanted > limit)
		buf_addf(&f->sheet.notes, "the last %zu of %zu collections; --top 0 shows all\n", limit, wanted);
	return rc;
}

int report_collections(const struct report_input *in, const struct collection_list *l, const struct report_options *o,
		       struct sink_out *out, struct err *err)
{
	struct filling f = { .in = in,
			     .list = l,
			     .display = { .keep_allocator_frames = o->keep_allocator_frames, .skip = &o->skip } };
	f.sheet.texts = &f.texts;
	add_columns(&f.sheet);
	int rc = fill(&f, o);
	if (!rc && !f.sheet.has_total)
		rc = err_set(err, ENODATA,
			     "no collection recorded: the program has no supported garbage collector, or it did not collect");
	else if (rc)
		rc = err_set(err, ENOMEM, "out of memory for the report");
	buf_adds(&f.sheet.notes, "In use is all that was marked; Reclaimed are recorded blocks; Of all is what the whole heap "
				 "lost, from In use before and after\n");
	report_notes(in, &f.sheet.notes);
	put_facts(in, "collection", "gc", &f.sheet.facts);
	if (!rc)
		rc = sheet_pick(&f.sheet, o->columns, err);
	if (!rc)
		rc = sheet_write(&f.sheet, o->format, out, err);
	sheet_free(&f.sheet);
	names_free(&f.texts);
	sink_stack_free(&f.stack);
	buf_free(&f.text);
	return rc;
}
