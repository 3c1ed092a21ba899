/* SPDX-License-Identifier: Apache-2.0 */
/* liveness/unrecorded: see unrecorded.h. */
#include "liveness/unrecorded.h"

static int note_older(struct unrecorded *s)
{
	int rc = heapset_copy(&s->older, &s->now.objects);
	for (struct heapset_at at = { 0 }; !rc && heapset_next(&s->now.empty, &at);)
		rc = heapset_put(&s->older, &(struct heap_object){ .base = at.addr, .size = at.of->size, .kind = at.of->kind },
				 0);
	if (rc)
		heapset_free(&s->older);
	return rc;
}

static void count(struct unrecorded *s)
{
	struct heapset_sum sum = heapset_common(&s->older, &s->now.objects);
	s->older_cnt = sum.count;
	s->older_bytes = sum.bytes;
	s->empty_cnt = s->older.count - sum.count;
	s->empty_bytes = s->older.bytes - sum.bytes;
	s->cnt = s->now.objects.count - sum.count;
	s->bytes = s->now.objects.bytes - sum.bytes;
}

int unrecorded_note(struct unrecorded *s)
{
	if (!s->now.whole)
		return 0;
	int rc = s->looked || s->began_here ? 0 : note_older(s);
	s->looked = !rc;
	if (rc)
		return rc;
	/* An unmarked object is gone for good: another one at its address is not older. */
	heapset_keep_common(&s->older, &s->now.objects, &s->now.empty);
	count(s);
	return 0;
}

void unrecorded_know(struct unrecorded *s, uint64_t addr)
{
	uint64_t older = heapset_take(&s->older, addr), size = heapset_take(&s->now.objects, addr);
	if (!s->looked || (!size && !older))
		return;
	uint64_t *cnt = !older ? &s->cnt : size ? &s->older_cnt : &s->empty_cnt;
	uint64_t *bytes = !older ? &s->bytes : size ? &s->older_bytes : &s->empty_bytes;
	*cnt -= *cnt > 0;
	*bytes -= (size ?: older) < *bytes ? (size ?: older) : *bytes;
}

/* Older objects become an upper bound: judging gigabytes anew would be too expensive. */
void unrecorded_missed(struct unrecorded *s)
{
	bool all_older = !s->looked && !s->began_here;
	const struct heapset none = { 0 };
	if (!all_older)
		heapset_keep_common(&s->now.objects, &s->older, &none);
}

void unrecorded_free(struct unrecorded *s)
{
	heapset_free(&s->older);
	unknown_free(&s->now);
}
