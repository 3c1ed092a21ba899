/* liveness/strangers: see strangers.h. */
#include "liveness/strangers.h"

/* What is not marked any more is gone for good: whoever gets its place is another. */
static void drop_dead(struct strangers *s)
{
	for (struct heapset_at at = { 0 }; heapset_next(&s->older, &at);) {
		if (!heapset_size(&s->now.objects, at.addr) && !heapset_size(&s->now.empty, at.addr))
			heapset_take(&s->older, at.addr);
	}
}

static int note_older(struct strangers *s)
{
	int rc = heapset_copy(&s->older, &s->now.objects);
	for (struct heapset_at at = { 0 }; !rc && heapset_next(&s->now.empty, &at);)
		rc = heapset_put(&s->older, &(struct heap_object){ .base = at.addr, .size = at.of->size, .kind = at.of->kind }, 0);
	if (rc)
		heapset_free(&s->older);
	return rc;
}

static void count(struct strangers *s)
{
	s->older_cnt = s->older_bytes = s->empty_cnt = s->empty_bytes = 0;
	for (struct heapset_at at = { 0 }; heapset_next(&s->older, &at);) {
		bool is_empty = !heapset_size(&s->now.objects, at.addr);
		*(is_empty ? &s->empty_cnt : &s->older_cnt) += 1;
		*(is_empty ? &s->empty_bytes : &s->older_bytes) += at.of->size;
	}
	s->cnt = s->now.objects.count - s->older_cnt;
	s->bytes = s->now.objects.bytes - s->older_bytes;
}

int strangers_note(struct strangers *s)
{
	if (!s->now.whole)
		return 0;
	int rc = s->looked || s->began_here ? 0 : note_older(s);
	s->looked = !rc;
	if (rc)
		return rc;
	drop_dead(s);
	count(s);
	return 0;
}

void strangers_know(struct strangers *s, uint64_t addr)
{
	uint64_t older = heapset_size(&s->older, addr), size = heapset_size(&s->now.objects, addr);
	heapset_take(&s->older, addr);
	heapset_take(&s->now.objects, addr);
	if (!s->looked || (!size && !older))
		return;
	uint64_t *cnt = !older ? &s->cnt : size ? &s->older_cnt : &s->empty_cnt;
	uint64_t *bytes = !older ? &s->bytes : size ? &s->older_bytes : &s->empty_bytes;
	*cnt -= *cnt > 0;
	*bytes -= (size ?: older) < *bytes ? (size ?: older) : *bytes;
}

/* What is older is an upper bound then; of gigabytes all would have to be judged anew. */
void strangers_missed(struct strangers *s)
{
	bool all_older = !s->looked && !s->began_here;
	for (struct heapset_at at = { 0 }; !all_older && heapset_next(&s->now.objects, &at);) {
		if (!heapset_size(&s->older, at.addr))
			heapset_take(&s->now.objects, at.addr);
	}
}

void strangers_free(struct strangers *s)
{
	heapset_free(&s->older);
	unknown_free(&s->now);
}
