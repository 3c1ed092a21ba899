/* SPDX-License-Identifier: Apache-2.0 */
/* model/heapfuls: see heapfuls.h. */
#include "model/heapfuls.h"

#include <stdlib.h>

#define PROCESSES_MAX 65536
#define CASE_BITS 16
#define STEP_BITS (64 / (HEAPFULS_PAST + 1))

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

void heapfuls_free(struct heapfuls *h)
{
	map_free(&h->past);
	free(h->cases);
	*h = (struct heapfuls){ 0 };
}

/* The process' last heap-fulls, this one included. NULL: no memory. */
static uint64_t *past_of(struct heapfuls *h, const struct event *e)
{
	if (h->past.count >= PROCESSES_MAX)
		map_free(&h->past);
	uint64_t *past = map_put(&h->past, mix(mix(0, e->proc.n), e->addr));
	if (past)
		*past = (e->interval ? e->old_addr : *past) << STEP_BITS | mix(mix(0, e->stack.n), e->size) >> (64 - STEP_BITS);
	return past;
}

double heapfuls_add(struct heapfuls *h, const struct event *e, double bytes)
{
	const uint64_t *past = past_of(h, e);
	if (!h->cases)
		h->cases = calloc(1u << CASE_BITS, sizeof(*h->cases));
	double *at = past && h->cases ? &h->cases[mix(e->proc.n, *past) >> (64 - CASE_BITS)] : &h->unsorted;
	double had = *at;
	*at += bytes;
	return had;
}
