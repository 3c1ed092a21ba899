/* SPDX-License-Identifier: Apache-2.0 */
/* model/peak: the heap at its peak; see watch.h for the method. */
#include <errno.h>
#include <stdlib.h>

#include "model/watch.h"

void peak_before(struct peak *p, const struct watched *w)
{
	struct peak_row *r = &p->rows[w->row];
	if (r->epoch == p->epoch)
		return;
	r->epoch = p->epoch;
	r->cnt = w->of_row->est_live_cnt;
	r->sz = w->of_row->est_live_sz;
	r->var = w->of_row->var[LIVE_SZ];
}

void peak_after(struct peak *p, const struct watched *w)
{
	if (w->all->est_live_sz <= p->sz)
		return;
	p->sz = w->all->est_live_sz;
	p->cnt = w->all->est_live_cnt;
	p->var = totals_var(w->all, LIVE_SZ);
	p->time_ns = w->event->time_ns;
	p->epoch++;
}

int peak_fill(const struct peak *p, const struct snapshot_row *heap_rows, struct snapshot *s, const uint32_t *order)
{
	s->peak = calloc(s->n + 1, sizeof(*s->peak));
	if (!s->peak)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		const struct totals *t = &heap_rows[order[i]].t;
		s->peak[i] = p->rows[order[i]];
		if (s->peak[i].epoch != p->epoch) {
			s->peak[i].cnt = t->est_live_cnt;
			s->peak[i].sz = t->est_live_sz;
			s->peak[i].var = t->var[LIVE_SZ];
		}
	}
	s->peak_cnt = p->cnt;
	s->peak_sz = p->sz;
	s->peak_var = p->var;
	s->peak_ns = p->time_ns;
	return 0;
}
