/* SPDX-License-Identifier: Apache-2.0 */
/* model/heap_facts: see heap_facts.h. */
#include "model/heap_facts.h"

void facts_note(struct heap_facts *f, const struct event *e)
{
	f->sampled = f->sampled || e->interval;
	if (e->flags & EVENT_F_CARRIED)
		f->carried++;
	else
		f->events += e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC || e->kind == EVENT_FREE;
	if (!e->time_ns)
		return;
	if (!f->first_ns || e->time_ns < f->first_ns)
		f->first_ns = e->time_ns;
	if (e->time_ns > f->last_ns)
		f->last_ns = e->time_ns;
}

void facts_note_loss(struct heap_facts *f, const struct event *e)
{
	if (e->lost_kind == EVENT_FREE || e->lost_kind == EVENT_REALLOC)
		f->lost_frees += e->size;
	if (e->lost_kind == EVENT_ALLOC || e->lost_kind == EVENT_REALLOC)
		f->lost_allocs += e->size;
}
