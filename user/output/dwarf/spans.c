/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/spans: see spans.h. */
#include "dwarf/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

#define SPANS_MAX (1u << 23) /* 192 MiB: a file may repeat one range list in every function */

int spans_add(struct spans *s, uint64_t low, uint64_t high, uint32_t item, uint32_t depth)
{
	if (low >= high || s->at_cnt >= SPANS_MAX)
		return 0;
	struct span *new = VEC_PUSH(s, at);
	if (!new)
		return -ENOMEM;
	*new = (struct span){ low, high, item, depth };
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static int emit(struct spans *flat, uint64_t low, uint64_t high, uint32_t item)
{
	struct span *last = flat->at_cnt ? &flat->at[flat->at_cnt - 1] : NULL;
	if (last && last->high == low && last->item == item) {
		last->high = high;
		return 0;
	}
	struct span *new = VEC_PUSH(flat, at);
	if (!new)
		return -ENOMEM;
	*new = (struct span){ .low = low, .high = high, .item = item };
	return 0;
}

/* Emits the ranges from *pos to `until`, and pops stack entries that end before. */
static int advance(struct spans *stack, struct spans *flat, uint64_t *pos, uint64_t until)
{
	int rc = 0;
	while (!rc && stack->at_cnt && *pos < until) {
		const struct span *top = &stack->at[stack->at_cnt - 1];
		if (top->high <= *pos) {
			stack->at_cnt--;
			continue;
		}
		uint64_t end = top->high < until ? top->high : until;
		rc = emit(flat, *pos, end, top->item);
		*pos = end;
	}
	*pos = until;
	return rc;
}

/*
 *   |------ A ------|          A      0..16
 *      |-- B --|               B      3..10      A 0..3, B 3..5, C 5..8, B 8..10, A 10..16
 *        |-C-|                 C      5..8
 */
int spans_seal(struct spans *s)
{
	struct spans stack = { 0 }, flat = { 0 };
	uint64_t pos = 0;
	int rc = 0;
	if (s->at_cnt)
		qsort(s->at, s->at_cnt, sizeof(*s->at), by_start);
	for (size_t i = 0; !rc && i < s->at_cnt; i++) {
		rc = advance(&stack, &flat, &pos, s->at[i].low);
		struct span *top = rc ? NULL : VEC_PUSH(&stack, at);
		if (top)
			*top = s->at[i];
		else
			rc = -ENOMEM;
	}
	if (!rc)
		rc = advance(&stack, &flat, &pos, UINT64_MAX);
	spans_free(&stack);
	spans_free(s);
	*s = flat;
	return rc;
}

uint32_t spans_find(const struct spans *s, uint64_t addr)
{
	size_t low = SORTED_UNTIL(s->at_cnt, i, s->at[i].high <= addr);
	return low < s->at_cnt && s->at[low].low <= addr ? s->at[low].item : SPANS_NONE;
}

void spans_free(struct spans *s)
{
	free(s->at);
	memset(s, 0, sizeof(*s));
}
