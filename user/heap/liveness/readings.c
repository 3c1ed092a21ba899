/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/readings: see readings.h. */
#include "liveness/readings.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define KEEP_SZ (256u << 20)

void mark_reading_free(struct mark_reading *r)
{
	if (!r)
		return;
	boehm_heap_free(&r->heap);
	buf_free(&r->copy);
	free(r);
}

static size_t reading_sz(const struct mark_reading *r)
{
	return r->heap.blocks_cap * sizeof(*r->heap.blocks) + r->heap.marks_cap + r->heap.asked_cnt * sizeof(*r->heap.asked) +
	       r->heap.pages_cnt * sizeof(*r->heap.pages) + r->copy.cap;
}

static struct mark_reading *take_at(struct readings *k, size_t i)
{
	struct mark_reading *r = k->list[i];
	k->sz -= reading_sz(r);
	memmove(k->list + i, k->list + i + 1, (--k->list_cnt - i) * sizeof(*k->list));
	return r;
}

void readings_keep(struct readings *k, struct mark_reading *r)
{
	while (k->sz + reading_sz(r) > KEEP_SZ && k->list_cnt)
		mark_reading_free(take_at(k, 0));
	struct mark_reading **slot = VEC_PUSH(k, list);
	if (!slot) {
		mark_reading_free(r);
		return;
	}
	*slot = r;
	k->sz += reading_sz(r);
}

struct mark_reading *readings_take(struct readings *k, uint32_t tgid, uint64_t serial)
{
	for (size_t i = 0; i < k->list_cnt; i++) {
		if (k->list[i]->tgid == tgid && k->list[i]->serial == serial)
			return take_at(k, i);
	}
	return NULL;
}

void readings_free(struct readings *k)
{
	for (size_t i = 0; i < k->list_cnt; i++)
		mark_reading_free(k->list[i]);
	free(k->list);
	*k = (struct readings){ 0 };
}
