/* SPDX-License-Identifier: Apache-2.0 */
/* model/young: rows of a snapshot without the blocks that were allocated last; see heap_snapshot_aged in model.h. */
#include <errno.h>
#include <stdlib.h>

#include "model/heap_state.h"

struct splitting {
	const struct heap *heap;
	struct snapshot *s;
	uint32_t *row_of; /* index of the heap's row -> of the snapshot's */
	uint32_t *young;  /* -> of its young row, 0 = none yet */
};

/* As many rows again: each may have young blocks. */
static int make_room(struct snapshot *s)
{
	size_t rows = 2 * s->n + 1, clusters = s->clusters_cnt + s->n;
	void *wider = reallocarray(s->rows, rows, sizeof(*s->rows));
	if (!wider)
		return -ENOMEM;
	s->rows = wider;
	wider = reallocarray(s->growth, rows, sizeof(*s->growth));
	if (!wider)
		return -ENOMEM;
	s->growth = wider;
	wider = s->clusters ? reallocarray(s->clusters, clusters, sizeof(*s->clusters)) : NULL;
	if (s->clusters && !wider)
		return -ENOMEM;
	s->clusters = wider;
	return 0;
}

static struct clusters_row *clusters_of(const struct snapshot *s, size_t row)
{
	return s->clusters && s->rows[row].windows ? &s->clusters[s->rows[row].windows] : NULL;
}

static uint32_t add_young(struct snapshot *s, size_t row)
{
	struct snapshot_row *of = &s->rows[row], *r = &s->rows[s->n];
	*r = (struct snapshot_row){ .stack = of->stack, .proc = of->proc, .split = of->split, .no = of->no, .young = true };
	s->growth[s->n] = (struct growth_row){ 0 };
	if (clusters_of(s, row)) {
		r->windows = (uint32_t)s->clusters_cnt++;
		s->clusters[r->windows] = (struct clusters_row){ .by_cpu = s->clusters[of->windows].by_cpu };
	}
	return (uint32_t)s->n++;
}

static void split_block(const struct splitting *d, size_t place)
{
	const struct block *b = &d->heap->blocks[place];
	struct snapshot *s = d->s;
	if (b->time_ns < s->young_ns)
		return;
	uint32_t row = d->row_of[b->row], *young = &d->young[row];
	if (!*young)
		*young = add_young(s, row);
	block_ends(&s->rows[row].t, clusters_of(s, row), b);
	block_begins(&s->rows[*young].t, clusters_of(s, *young), b);
}

static void split_blocks(const struct splitting *d)
{
	const struct heap *h = d->heap;
	const struct map_slot *slot;
	for (size_t p = 0; p < h->procs_cnt; p++) {
		for (size_t i = 0; (slot = map_next(&h->procs[p].live, &i));)
			split_block(d, slot->value);
	}
	for (size_t i = 0; i < h->left_cnt; i++)
		split_block(d, h->left[i].place);
}

int heap_split_young(const struct heap *h, struct snapshot *s, const uint32_t *order)
{
	struct splitting d = { .heap = h, .s = s };
	size_t n = s->n;
	int rc = make_room(s);
	d.row_of = calloc(h->rows_cnt + 1, sizeof(*d.row_of));
	d.young = calloc(n + 1, sizeof(*d.young));
	if (!d.row_of || !d.young)
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		d.row_of[order[i]] = (uint32_t)i;
	if (!rc)
		split_blocks(&d);
	free(d.row_of);
	free(d.young);
	return rc;
}
