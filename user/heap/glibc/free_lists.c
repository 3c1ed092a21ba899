/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/free_lists: see lists.h. */
#include "glibc/free_lists.h"

#include <inttypes.h>

#define CLASS_STEP 16
#define CLASS_FIRST 32
#define SMALL_BINS 64 /* bins up to here, the unsorted one included, hold chunks of one size */

/* Since 2.32 pointers of lists that have one direction are mixed with the place where they stand. */
static uint64_t next_of(const struct glibc_layout *l, const struct glibc_chunk *c)
{
	return l->version >= 32 ? c->word ^ (c->addr + CHUNK_HEADER) >> 12 : c->word;
}

/* --- caches of threads ------------------------------------------------------------------------------ */

struct following {
	struct glibc_heap *h;
	const struct glibc_layout *l;
	uint64_t steps; /* left: lists of caches have no more members than there are chunks, whatever a hostile heap says */
};

/* Marks the chunks of list i, or only looks. False: the list is not as long as its count. */
static bool follow_cache(struct following *f, const struct glibc_cache *cache, size_t i, bool mark)
{
	struct glibc_heap *h = f->h;
	const struct glibc_layout *l = f->l;
	uint64_t at = cache->entries[i];
	for (uint32_t n = 0; n < cache->counts[i]; n++) {
		if (!f->steps)
			return false;
		f->steps--;
		struct glibc_chunk *c = at & 15 ? NULL : glibc_chunk_at(h, at - CHUNK_HEADER);
		if (!c || c->size != CLASS_FIRST + i * CLASS_STEP || c->state != CHUNK_USED)
			return false;
		if (mark)
			c->state = CHUNK_TCACHE;
		at = next_of(l, c);
	}
	return !at;
}

/* Memory of the program may look like a table; then none of its lists holds. */
static bool is_cache(struct following *f, const struct glibc_cache *cache)
{
	for (size_t i = 0; i < TCACHE_BINS; i++) {
		if (cache->counts[i] && follow_cache(f, cache, i, false))
			return true;
	}
	return false;
}

void glibc_check_caches(struct glibc_heap *h, const struct glibc_layout *l)
{
	struct following f = { h, l, 4 * (uint64_t)h->chunks_cnt };
	for (size_t n = 0; n < h->caches_cnt; n++) {
		const struct glibc_cache *cache = &h->caches[n];
		if (!is_cache(&f, cache))
			continue;
		for (size_t i = 0; i < TCACHE_BINS; i++) {
			if (cache->counts[i] && !follow_cache(&f, cache, i, true))
				glibc_heap_odd(h, "a thread's cache at 0x%" PRIx64 " has a list of another length than its count",
					       cache->addr);
		}
	}
}

/* --- fastbins ------------------------------------------------------------------------------------- */

static void follow_fastbin(struct glibc_heap *h, const struct glibc_layout *l, const struct glibc_arena *a, size_t i)
{
	for (uint64_t at = a->fastbins[i]; at;) {
		struct glibc_chunk *c = glibc_chunk_at(h, at);
		if (!c || c->size != CLASS_FIRST + i * CLASS_STEP || c->state != CHUNK_USED) {
			glibc_heap_odd(h, "0x%" PRIx64 " in a fastbin is no chunk of its size", at);
			return;
		}
		c->state = CHUNK_FASTBIN;
		at = next_of(l, c);
	}
}

void glibc_check_fastbins(struct glibc_heap *h, const struct glibc_layout *l)
{
	for (size_t n = 0; n < h->arenas_cnt; n++) {
		for (size_t i = 0; i < GLIBC_FASTBINS; i++)
			follow_fastbin(h, l, &h->arenas[n], i);
	}
}

/* --- bins ----------------------------------------------------------------------------------------- */

static void follow_bin(struct glibc_heap *h, const struct glibc_layout *l, const struct glibc_arena *a, size_t i)
{
	uint64_t head = a->addr + l->bins + 16 * i - 16;
	enum chunk_state state = !i ? CHUNK_UNSORTED : i < SMALL_BINS - 1 ? CHUNK_SMALL : CHUNK_LARGE;
	for (uint64_t at = a->bins[2 * i]; at != head;) {
		struct glibc_chunk *c = glibc_chunk_at(h, at);
		if (!c || c->state != CHUNK_FREE) {
			glibc_heap_odd(h, "0x%" PRIx64 " in a bin is no free chunk", at);
			return;
		}
		c->state = state;
		at = c->word;
	}
}

void glibc_check_bins(struct glibc_heap *h, const struct glibc_layout *l)
{
	for (size_t n = 0; n < h->arenas_cnt; n++) {
		const struct glibc_arena *a = &h->arenas[n];
		for (size_t i = 0; i < GLIBC_BINS && a->top >> 4; i++)
			follow_bin(h, l, a, i);
	}
	for (size_t i = 0; i < h->chunks_cnt; i++) {
		if (h->chunks[i].state == CHUNK_FREE)
			glibc_heap_odd(h, "the free chunk at 0x%" PRIx64 " is in no bin", h->chunks[i].addr);
	}
}
