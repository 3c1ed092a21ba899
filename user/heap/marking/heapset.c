/* SPDX-License-Identifier: Apache-2.0 */
/* marking/heapset: see heapset.h. */
#include "marking/heapset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define GRANULE 16

static uint64_t block_at(uint64_t addr)
{
	return addr & ~(uint64_t)(BOEHM_BLOCK - 1);
}

static size_t granule_of(uint64_t addr)
{
	return addr % BOEHM_BLOCK / GRANULE;
}

size_t heapset_tags(const struct heapset_block *b)
{
	return b->size < BOEHM_BLOCK ? BOEHM_BLOCK / b->size : 1;
}

static size_t slot_of(const struct heapset_block *b, uint64_t addr)
{
	return addr % BOEHM_BLOCK / b->size;
}

static struct heapset_block *find(const struct heapset *s, uint64_t addr)
{
	const uint64_t *place = s->count ? map_get(&s->places, block_at(addr)) : NULL;
	return place ? &s->blocks[*place - 1] : NULL;
}

static bool has_bit(const struct heapset_block *b, size_t granule)
{
	return b->bits[granule / 64] >> granule % 64 & 1;
}

static void empty(struct heapset *s, struct heapset_block *b)
{
	s->count -= b->members;
	s->bytes -= b->members * b->size;
	b->members = 0;
	memset(b->bits, 0, sizeof(b->bits));
	free(b->tags);
	b->tags = NULL;
}

/* NULL: out of memory. */
static struct heapset_block *block_for(struct heapset *s, const struct heap_object *o)
{
	uint64_t *place = map_put(&s->places, block_at(o->base));
	if (place && !*place) {
		struct heapset_block *fresh = VEC_PUSH(s, blocks);
		if (fresh)
			*fresh = (struct heapset_block){ .addr = block_at(o->base), .size = o->size, .kind = o->kind };
		*place = fresh ? s->blocks_cnt : 0;
		if (!fresh)
			map_del(&s->places, block_at(o->base));
		return fresh;
	}
	struct heapset_block *b = place ? &s->blocks[*place - 1] : NULL;
	if (b && (b->size != o->size || b->kind != o->kind)) {
		empty(s, b);
		b->size = o->size;
		b->kind = o->kind;
	}
	return b;
}

int heapset_put(struct heapset *s, const struct heap_object *o, uint16_t tag)
{
	struct heapset_block *b = o->size ? block_for(s, o) : NULL;
	size_t granule = granule_of(o->base);
	if (!b)
		return -ENOMEM;
	if (tag && !b->tags && !(b->tags = calloc(heapset_tags(b), sizeof(*b->tags))))
		return -ENOMEM;
	if (b->tags && slot_of(b, o->base) < heapset_tags(b))
		b->tags[slot_of(b, o->base)] = tag;
	if (has_bit(b, granule))
		return 0;
	b->bits[granule / 64] |= 1ull << granule % 64;
	b->members++;
	s->count++;
	s->bytes += b->size;
	return 0;
}

uint64_t heapset_size(const struct heapset *s, uint64_t addr)
{
	const struct heapset_block *b = addr % GRANULE ? NULL : find(s, addr);
	return b && has_bit(b, granule_of(addr)) ? b->size : 0;
}

static void take_bit(struct heapset *s, struct heapset_block *b, size_t granule)
{
	b->bits[granule / 64] &= ~(1ull << granule % 64);
	b->members--;
	s->count--;
	s->bytes -= b->size;
	if (!b->members)
		empty(s, b);
}

uint64_t heapset_take(struct heapset *s, uint64_t addr)
{
	struct heapset_block *b = addr % GRANULE ? NULL : find(s, addr);
	if (!b || !has_bit(b, granule_of(addr)))
		return 0;
	take_bit(s, b, granule_of(addr));
	return b->size;
}

static const struct heap_block *same_block(const struct boehm_heap *h, const struct heapset_block *b)
{
	struct heap_object o;
	const struct heap_block *now = boehm_heap_find(h, b->addr, &o) ? &h->blocks[o.block] : NULL;
	return now && now->addr == b->addr && now->size == b->size && now->kind == b->kind ? now : NULL;
}

void heapset_keep_marked(struct heapset *s, const struct boehm_heap *h)
{
	for (size_t i = 0; i < s->blocks_cnt; i++) {
		struct heapset_block *b = &s->blocks[i];
		const struct heap_block *now = b->members ? same_block(h, b) : NULL;
		if (!now) {
			empty(s, b);
			continue;
		}
		for (size_t k = 0; k < now->objects && b->members; k++) {
			size_t granule = k * now->size / GRANULE;
			if (has_bit(b, granule) && !h->marks[now->marks + k])
				take_bit(s, b, granule);
		}
	}
}

bool heapset_next(const struct heapset *s, struct heapset_at *at)
{
	for (; at->block < s->blocks_cnt; at->block++, at->granule = 0) {
		const struct heapset_block *b = &s->blocks[at->block];
		for (size_t g = at->granule; b->members && g < HEAPSET_GRANULES; g++) {
			if (!has_bit(b, g))
				continue;
			at->granule = g + 1;
			at->addr = b->addr + g * GRANULE;
			at->tag = b->tags && slot_of(b, at->addr) < heapset_tags(b) ? b->tags[slot_of(b, at->addr)] : 0;
			at->of = b;
			return true;
		}
	}
	return false;
}

/* The same block in s, NULL unless it has members, of the same size and kind. */
static const struct heapset_block *alike(const struct heapset *s, const struct heapset_block *b)
{
	const struct heapset_block *other = find(s, b->addr);
	return other && other->members && other->size == b->size && other->kind == b->kind ? other : NULL;
}

bool heapset_next_common(const struct heapset *s, const struct heapset *others, struct heapset_at *at)
{
	const struct heapset_block *of = at->of, *other = of ? alike(others, of) : NULL;
	while (heapset_next(s, at)) {
		if (at->of != of) {
			of = at->of;
			other = alike(others, of);
		}
		if (other && has_bit(other, granule_of(at->addr)))
			return true;
	}
	return false;
}

struct heapset_sum heapset_common(const struct heapset *s, const struct heapset *others)
{
	struct heapset_sum sum = { 0 };
	for (size_t i = 0; i < s->blocks_cnt; i++) {
		const struct heapset_block *b = &s->blocks[i], *other = b->members ? alike(others, b) : NULL;
		uint64_t n = 0;
		for (size_t w = 0; other && w < HEAPSET_GRANULES / 64; w++)
			n += (uint64_t)__builtin_popcountll(b->bits[w] & other->bits[w]);
		sum.count += n;
		sum.bytes += n * b->size;
	}
	return sum;
}

static void keep_bits(struct heapset *s, struct heapset_block *b, size_t word, uint64_t keep)
{
	uint64_t gone = (uint64_t)__builtin_popcountll(b->bits[word] & ~keep);
	b->bits[word] &= keep;
	b->members -= (uint16_t)gone;
	s->count -= gone;
	s->bytes -= gone * b->size;
}

void heapset_keep_common(struct heapset *s, const struct heapset *a, const struct heapset *b)
{
	for (size_t i = 0; i < s->blocks_cnt; i++) {
		struct heapset_block *at = &s->blocks[i];
		const struct heapset_block *in_a = at->members ? alike(a, at) : NULL, *in_b = at->members ? alike(b, at) : NULL;
		for (size_t w = 0; at->members && w < HEAPSET_GRANULES / 64; w++)
			keep_bits(s, at, w, (in_a ? in_a->bits[w] : 0) | (in_b ? in_b->bits[w] : 0));
	}
}

static size_t members_of(const struct heapset_block *b)
{
	size_t n = 0;
	for (size_t w = 0; w < HEAPSET_GRANULES / 64; w++)
		n += (size_t)__builtin_popcountll(b->bits[w]);
	return n;
}

int heapset_adopt(struct heapset *s, const struct heapset_block *b)
{
	if (!b->size || b->addr != block_at(b->addr) || map_get(&s->places, b->addr))
		return -EBADMSG;
	struct heapset_block *fresh = block_for(s, &(struct heap_object){ .base = b->addr, .size = b->size, .kind = b->kind });
	size_t tags_sz = heapset_tags(b) * sizeof(*b->tags);
	if (!fresh || (b->tags && !(fresh->tags = malloc(tags_sz))))
		return -ENOMEM;
	if (b->tags)
		memcpy(fresh->tags, b->tags, tags_sz);
	memcpy(fresh->bits, b->bits, sizeof(fresh->bits));
	fresh->members = (uint16_t)members_of(b);
	s->count += fresh->members;
	s->bytes += fresh->members * fresh->size;
	return 0;
}

int heapset_copy(struct heapset *to, const struct heapset *from)
{
	int rc = 0;
	*to = (struct heapset){ 0 };
	for (struct heapset_at at = { 0 }; !rc && heapset_next(from, &at);)
		rc = heapset_put(to, &(struct heap_object){ .base = at.addr, .size = at.of->size, .kind = at.of->kind }, 0);
	if (rc)
		heapset_free(to);
	return rc;
}

void heapset_free(struct heapset *s)
{
	for (size_t i = 0; i < s->blocks_cnt; i++)
		free(s->blocks[i].tags);
	free(s->blocks);
	map_free(&s->places);
	*s = (struct heapset){ 0 };
}
