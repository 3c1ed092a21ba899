/* SPDX-License-Identifier: Apache-2.0 */
/* model/watch: passes heap changes to the trackers that are enabled; see watch.h. */
#include "model/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void watch_begin(struct watch *w, unsigned int what)
{
	w->what = what;
	w->growth.slices.finest = 20; /* about a millisecond */
	w->timing.slices.finest = 16; /* 65 us */
}

/* Trackers use the heap's row indices; rows_cnt includes the new row. */
int watch_add_row(struct watch *w, size_t rows_cnt)
{
	if (w->what & HEAP_PEAK && w->peak.rows_cnt < rows_cnt && !VEC_PUSH(&w->peak, rows))
		return -ENOMEM;
	if (w->what & HEAP_LIFETIMES && w->lifetimes.rows_cnt < rows_cnt && !VEC_PUSH(&w->lifetimes, rows))
		return -ENOMEM;
	if (w->what & HEAP_GROWTH && w->growth.rows_cnt < rows_cnt && !VEC_PUSH(&w->growth, rows))
		return -ENOMEM;
	if (w->what & HEAP_TIMELINE && !w->timing.at)
		w->timing.at = calloc(TIMELINE_SLICES, sizeof(*w->timing.at));
	return w->what & HEAP_TIMELINE && !w->timing.at ? -ENOMEM : 0;
}

void watch_before(struct watch *w, const struct watched *change)
{
	if (w->what & HEAP_PEAK)
		peak_before(&w->peak, change);
	if (w->what & HEAP_GROWTH)
		growth_reach(&w->growth, change->row, change->of_row, change->event->time_ns);
	if (w->what & HEAP_TIMELINE)
		timing_before(&w->timing, change);
}

void watch_begun(struct watch *w, const struct watched *change)
{
	if (w->what & HEAP_PEAK)
		peak_after(&w->peak, change);
	if (w->what & HEAP_LIFETIMES)
		lifetimes_begun(&w->lifetimes, change);
	if (w->what & HEAP_TIMELINE)
		timing_begun(&w->timing, change);
}

void watch_ended(struct watch *w, const struct watched *change)
{
	if (w->what & HEAP_LIFETIMES)
		lifetimes_ended(&w->lifetimes, change);
	if (w->what & HEAP_TIMELINE)
		timing_ended(&w->timing, change);
}

int watch_fill(const struct watch *w, const struct snapshot_row *heap_rows, struct snapshot *s, const uint32_t *order)
{
	int rc = w->what & HEAP_PEAK ? peak_fill(&w->peak, heap_rows, s, order) : 0;
	if (!rc && w->what & HEAP_LIFETIMES)
		rc = lifetimes_fill(&w->lifetimes, s, order);
	if (!rc && w->what & HEAP_TIMELINE)
		rc = timing_fill(&w->timing, &s->all, s->facts.last_ns, s);
	return rc;
}

void watch_free(struct watch *w)
{
	free(w->peak.rows);
	free(w->lifetimes.rows);
	map_free(&w->lifetimes.threads);
	growth_free(&w->growth);
	free(w->timing.at);
	free(w->timing.windows);
	*w = (struct watch){ 0 };
}
