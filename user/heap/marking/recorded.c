/* SPDX-License-Identifier: Apache-2.0 */
/* marking/recorded: see recorded.h. Open addressing with linear probing; slots move back on removal. */
#include "marking/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine/address.h"

#define EPOCH_BITS 20 /* with an address / 16, 64; after 2^20 further collections an old object looks young, for one collection */
#define EPOCH_MASK ((1u << EPOCH_BITS) - 1)
_Static_assert(ADDRESS_BITS - 4 + EPOCH_BITS == 64, "a slot");
#define LEAST_CAP 1024
#define DIGIT_BITS 11
#define AHEAD 12 /* how many objects ahead slots are prefetched */
#define HUGE_PAGE (2u << 20)
#define DIGITS (1u << DIGIT_BITS)

static uint64_t place_of(uint64_t addr)
{
	return addr >> 4;
}

static uint64_t slot_place(const struct recorded_slot *s)
{
	return s->at >> EPOCH_BITS;
}

static size_t home_of(const struct recorded *o, uint64_t place)
{
	uint64_t h = place * 0x9e3779b97f4a7c15ull;
	return (h ^ h >> 32) & (o->cap - 1);
}

/* The slot of this place, or the free slot where it would be inserted. */
static size_t find(const struct recorded *o, uint64_t place)
{
	size_t i = home_of(o, place);
	while (o->slots[i].at && slot_place(&o->slots[i]) != place)
		i = (i + 1) & (o->cap - 1);
	return i;
}

/* Zeroed. Accesses are scattered over the table: huge pages save the TLB miss that each would cost. */
static struct recorded_slot *make_slots(size_t cap)
{
	size_t n = cap * sizeof(struct recorded_slot);
	if (n < HUGE_PAGE)
		return calloc(1, n);
	struct recorded_slot *slots = aligned_alloc(HUGE_PAGE, n);
	if (!slots)
		return NULL;
	madvise(slots, n, MADV_HUGEPAGE);
	memset(slots, 0, n);
	return slots;
}

static int grow(struct recorded *o)
{
	struct recorded wide = { .cap = o->cap ? 2 * o->cap : LEAST_CAP, .count = o->count, .epoch = o->epoch };
	wide.slots = make_slots(wide.cap);
	if (!wide.slots)
		return -ENOMEM;
	for (size_t i = 0; i < o->cap; i++) {
		if (o->slots[i].at)
			wide.slots[find(&wide, slot_place(&o->slots[i]))] = o->slots[i];
	}
	free(o->slots);
	*o = wide;
	return 0;
}

int recorded_put(struct recorded *o, uint64_t addr, uint64_t size, uint64_t *old)
{
	if (o->count >= o->cap / 8 * 5 && grow(o))
		return -ENOMEM;
	struct recorded_slot *s = &o->slots[find(o, place_of(addr))];
	bool was = s->at != 0;
	if (was)
		*old = s->size;
	else
		o->count++;
	*s = (struct recorded_slot){ place_of(addr) << EPOCH_BITS | o->epoch, size };
	return was;
}

bool recorded_take(struct recorded *o, uint64_t addr, uint64_t *size)
{
	if (!o->count)
		return false;
	size_t hole = find(o, place_of(addr)), i = hole;
	if (!o->slots[hole].at)
		return false;
	*size = o->slots[hole].size;
	/* Close the gap: move back entries that were displaced past it. */
	for (;;) {
		i = (i + 1) & (o->cap - 1);
		if (!o->slots[i].at)
			break;
		size_t home = home_of(o, slot_place(&o->slots[i]));
		if (((i - home) & (o->cap - 1)) < ((i - hole) & (o->cap - 1)))
			continue;
		o->slots[hole] = o->slots[i];
		hole = i;
	}
	o->slots[hole] = (struct recorded_slot){ 0 };
	o->count--;
	return true;
}

void recorded_marked(struct recorded *o)
{
	o->epoch = (o->epoch + 1) & EPOCH_MASK;
}

bool recorded_is_dead(const struct boehm_heap *h, uint64_t addr)
{
	struct heap_object found;
	if (!boehm_heap_covers(h, addr))
		return false;
	if (!boehm_heap_find(h, addr, &found))
		return true;
	return !found.marked && found.kind != HEAP_UNCOLLECTABLE && found.kind != HEAP_ATOMIC_UNCOLLECTABLE;
}

struct dead {
	uint64_t addr, size;
};

struct dead_list {
	struct dead *at, *other; /* other: scratch space for sorting */
	size_t cnt;
	uint64_t least, most;
};

static void list_dead(const struct recorded *o, const struct boehm_heap *h, struct dead_list *l)
{
	l->least = UINT64_MAX;
	for (size_t i = 0; i < o->cap; i++) {
		const struct recorded_slot *s = &o->slots[i];
		uint64_t addr = slot_place(s) << 4;
		if (!s->at || (s->at & EPOCH_MASK) == o->epoch || !recorded_is_dead(h, addr))
			continue;
		l->at[l->cnt++] = (struct dead){ addr, s->size };
		l->least = addr < l->least ? addr : l->least;
		l->most = addr > l->most ? addr : l->most;
	}
}

static void sort_by(struct dead_list *l, unsigned int shift)
{
	size_t starts[DIGITS + 1] = { 0 };
	for (size_t i = 0; i < l->cnt; i++)
		starts[((l->at[i].addr - l->least) >> shift) % DIGITS + 1]++;
	for (size_t d = 0; d < DIGITS; d++)
		starts[d + 1] += starts[d];
	for (size_t i = 0; i < l->cnt; i++)
		l->other[starts[((l->at[i].addr - l->least) >> shift) % DIGITS]++] = l->at[i];
	struct dead *sorted = l->other;
	l->other = l->at;
	l->at = sorted;
}

/* Radix sort by address: hundreds of thousands of objects may die in one collection. */
static void sort_dead(struct dead_list *l)
{
	for (unsigned int shift = 4; l->cnt && shift < 64 && (l->most - l->least) >> shift; shift += DIGIT_BITS)
		sort_by(l, shift);
}

int recorded_apply(struct recorded *o, const struct boehm_heap *h, int (*fn)(void *ctx, uint64_t addr, uint64_t size), void *ctx)
{
	struct dead_list l = { .at = malloc((o->count + 1) * sizeof(*l.at)), .other = malloc((o->count + 1) * sizeof(*l.at)) };
	int rc = l.at && l.other ? 0 : -ENOMEM;
	if (!rc) {
		list_dead(o, h, &l);
		sort_dead(&l);
	}
	for (size_t i = 0; i < l.cnt; i++) {
		uint64_t size;
		if (i + AHEAD < l.cnt)
			__builtin_prefetch(&o->slots[home_of(o, place_of(l.at[i + AHEAD].addr))]);
		recorded_take(o, l.at[i].addr, &size);
		int told = fn(ctx, l.at[i].addr, l.at[i].size);
		rc = rc ? rc : told;
	}
	free(l.at);
	free(l.other);
	return rc;
}

bool recorded_next(const struct recorded *o, size_t *i, uint64_t *addr)
{
	while (*i < o->cap) {
		const struct recorded_slot *s = &o->slots[(*i)++];
		*addr = slot_place(s) << 4;
		if (s->at)
			return true;
	}
	return false;
}

void recorded_free(struct recorded *o)
{
	free(o->slots);
	*o = (struct recorded){ 0 };
}
