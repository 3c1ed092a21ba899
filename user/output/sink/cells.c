/* SPDX-License-Identifier: Apache-2.0 */
/* sink/cells: see cells.h. */
#include "sink/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

void cells_begin(struct cells *c)
{
	c->slices.finest = c->heap_slices.finest = 20; /* about a millisecond */
}

static void add_amount(struct amount *to, const struct amount *by)
{
	to->cnt += by->cnt;
	to->sz += by->sz;
}

static void halve_row(struct cell_row *r)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->at_cnt; i++) {
		struct cell *from = &r->at[i];
		from->slice /= 2;
		if (!kept || r->at[kept - 1].slice != from->slice) {
			r->at[kept++] = *from;
			continue;
		}
		for (int v = 0; v < CELL_VALUES; v++)
			add_amount(&r->at[kept - 1].v[v], &from->v[v]);
	}
	r->at_cnt = kept;
}

static void halve(struct cells *c)
{
	c->cnt = 0;
	for (size_t i = 0; i < c->rows_cnt; i++) {
		struct cell_row *r = &c->rows[i];
		if (r->coarse)
			r->coarse--;
		else
			halve_row(r);
		c->cnt += r->at_cnt;
	}
	c->reached = (c->reached + 1) / 2;
}

static double bytes_of(const struct cell_row *r)
{
	double sz = 0;
	for (size_t i = 0; i < r->at_cnt; i++)
		sz += r->at[i].v[CELL_ALLOC].sz + r->at[i].v[CELL_FREED].sz;
	return sz;
}

/*
 * Doubles the slice width of paths with at most twice the mean number of bytes per cell: these own at least half of all
 * cells. False: every path has a single slice left.
 */
static bool thin(struct cells *c)
{
	double sz = 0, cnt = 0;
	bool any = false;
	for (size_t i = 0; i < c->rows_cnt; i++) {
		if (c->rows[i].at_cnt > 1) {
			sz += bytes_of(&c->rows[i]);
			cnt += (double)c->rows[i].at_cnt;
		}
	}
	c->cnt = 0;
	for (size_t i = 0; i < c->rows_cnt; i++) {
		struct cell_row *r = &c->rows[i];
		if (r->at_cnt > 1 && bytes_of(r) * cnt <= 2 * sz * (double)r->at_cnt) {
			halve_row(r);
			r->coarse++;
			any = true;
		}
		c->cnt += r->at_cnt;
	}
	return any;
}

/*
 * Each path needs at least one cell, so the limit cannot always be kept. A quarter is freed at a time, so that this is
 * not done for every new cell.
 */
static void make_room(struct cells *c)
{
	while (c->cnt > CELLS_MAX / 4 * 3 && thin(c))
		;
	c->most = c->cnt > CELLS_MAX / 4 * 3 ? c->cnt + CELLS_MAX / 4 : CELLS_MAX;
}

static void halve_heap(struct cells *c)
{
	for (size_t i = 0; i < CELL_SLICES / 2; i++) {
		const struct heap_slice a = c->heap[2 * i], b = c->heap[2 * i + 1];
		c->heap[i] = (struct heap_slice){ a.alloc_sz + b.alloc_sz, a.freed_sz + b.freed_sz,
						  a.highest > b.highest ? a.highest : b.highest };
	}
	memset(c->heap + CELL_SLICES / 2, 0, CELL_SLICES / 2 * sizeof(*c->heap));
	c->heap_reached = (c->heap_reached + 1) / 2;
}

static uint32_t slice_of(struct cells *c, const struct cell_row *r, uint64_t ns)
{
	uint64_t since = slices_since(c->first_ns, ns);
	while (slices_widen(&c->slices, since, CELL_SLICES))
		halve(c);
	uint32_t slice = (uint32_t)slices_at(&c->slices, since);
	if (slice >= c->reached)
		c->reached = slice + 1;
	return slice >> r->coarse;
}

/* Number of the row's cells that begin at `slice` or before. */
static size_t cells_until(const struct cell_row *r, uint32_t slice)
{
	/* Nearly always the last cell, because times increase. */
	if (r->at_cnt && r->at[r->at_cnt - 1].slice <= slice)
		return r->at_cnt;
	return SORTED_UNTIL(r->at_cnt, i, r->at[i].slice <= slice);
}

static struct cell *cell_of(struct cells *c, struct cell_row *r, uint32_t slice)
{
	size_t i = cells_until(r, slice);
	if (i && r->at[i - 1].slice == slice)
		return &r->at[i - 1];
	if (!VEC_PUSH(r, at))
		return NULL;
	memmove(&r->at[i + 1], &r->at[i], (r->at_cnt - 1 - i) * sizeof(*r->at));
	r->at[i] = (struct cell){ .slice = slice };
	c->cnt++;
	return &r->at[i];
}

bool cells_add(struct cells *c, uint32_t path, uint64_t ns, enum cell_value v, const struct amount *by)
{
	while (c->rows_cnt <= path) {
		if (!VEC_PUSH(c, rows))
			return false;
	}
	if (c->cnt >= (c->most ?: CELLS_MAX))
		make_room(c);
	struct cell_row *r = &c->rows[path];
	uint32_t slice = slice_of(c, r, ns);
	struct cell *cell = cell_of(c, r, slice);
	if (cell)
		add_amount(&cell->v[v], by);
	return cell;
}

void cells_note(struct cells *c, uint64_t ns, double alloc_sz, double freed_sz, double live_sz)
{
	uint64_t since = slices_since(c->first_ns, ns);
	while (slices_widen(&c->heap_slices, since, CELL_SLICES))
		halve_heap(c);
	uint32_t at = (uint32_t)slices_at(&c->heap_slices, since);
	struct heap_slice *s = &c->heap[at];
	s->alloc_sz += alloc_sz;
	s->freed_sz += freed_sz;
	if (live_sz > s->highest)
		s->highest = live_sz;
	if (at >= c->heap_reached)
		c->heap_reached = at + 1;
}

void cells_free(struct cells *c)
{
	for (size_t i = 0; i < c->rows_cnt; i++)
		free(c->rows[i].at);
	free(c->rows);
}
