/* liveness/strangers: see strangers.h. */
#include "liveness/strangers.h"

#include <errno.h>

static bool is_no_older(void *ctx, const struct map_slot *slot)
{
	struct strangers *s = ctx;
	if (!map_get(&s->older, slot->key)) {
		s->bytes += slot->value;
		return true;
	}
	s->older_cnt++;
	s->older_bytes += slot->value;
	return false;
}

/* What is not marked any more is gone for good: whoever gets its place is another. */
static bool is_marked_still(void *ctx, const struct map_slot *slot)
{
	const struct strangers *s = ctx;
	return map_get(&s->last.objects, slot->key) || map_get(&s->last.empty, slot->key);
}

static int copy(struct map *to, const struct map *from)
{
	const struct map_slot *slot;
	for (size_t i = 0; (slot = map_next(from, &i));) {
		uint64_t *size = map_put(to, slot->key);
		if (!size)
			return -ENOMEM;
		*size = slot->value;
	}
	return 0;
}

int strangers_note(struct strangers *s, struct unknown *u)
{
	unknown_free(&s->last);
	s->last = *u;
	*u = (struct unknown){ 0 };
	bool first = !s->whole && !s->looked;
	int rc = first ? copy(&s->older, &s->last.objects) : 0;
	if (!rc && first)
		rc = copy(&s->older, &s->last.empty);
	s->looked = true;
	map_keep(&s->older, is_marked_still, s);
	s->bytes = s->older_cnt = s->older_bytes = 0;
	map_keep(&s->last.objects, is_no_older, s);
	return rc;
}

void strangers_know(struct strangers *s, uint64_t addr)
{
	const uint64_t *size = s->last.objects.count ? map_get(&s->last.objects, addr) : NULL;
	if (size) {
		s->bytes -= *size;
		map_del(&s->last.objects, addr);
	}
	size = s->older.count ? map_get(&s->older, addr) : NULL;
	if (size && !map_get(&s->last.empty, addr)) {
		s->older_cnt--;
		s->older_bytes -= *size;
	}
	if (size)
		map_del(&s->older, addr);
}

void strangers_free(struct strangers *s)
{
	map_free(&s->older);
	unknown_free(&s->last);
}
