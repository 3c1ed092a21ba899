/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/mapped: see mapped.h. */
#include "glibc/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "access/pages.h"

#define SIZE_BITS 7ull
#define IS_MAPPED 2ull
#define REGION_MAX (64ull << 30) /* more than this is reserved, not allocated */
#define AT_ONCE 256              /* pages */
#define PLACES 9                 /* in a page, where the first chunk of a mapping may begin: for alignments of 16 to 4096 */
#define SMALLEST 32
#define ALIGNMENTS 32 /* powers of two from SMALLEST up to REGION_MAX */

struct scan {
	struct memory *m;
	struct glibc_heap *h;
	struct pages *pages;
	uint64_t end;    /* of the region */
	uint64_t behind; /* the last chunk */
};

/* Fills in the chunk when these words begin one. An aligned one begins later than its mapping, and says how much. */
static bool is_chunk(const struct scan *s, uint64_t at, const uint64_t *words, struct glibc_mapped *out)
{
	uint64_t before = words[0], size = words[1] & ~SIZE_BITS, start = at - before;
	bool mapped = (words[1] & SIZE_BITS) == IS_MAPPED && size >= PAGE_BYTES - before % PAGE_BYTES;
	if (!mapped || before & 15 || before > at - s->behind || start % PAGE_BYTES || size > s->end - at ||
	    (at + size) % PAGE_BYTES)
		return false;
	*out = (struct glibc_mapped){ start, { .addr = at, .size = size, .state = CHUNK_USED } };
	return true;
}

static int add(struct scan *s, const struct glibc_mapped *found)
{
	struct glibc_mapped *slot = VEC_PUSH(s->h, mapped);
	if (!slot)
		return -ENOMEM;
	*slot = *found;
	s->behind = found->chunk.addr + found->chunk.size;
	return 0;
}

/* Where the chunk may begin that memalign has made of this one: the headers, and what is behind each. */
static size_t list_aligned(const struct scan *s, const struct glibc_chunk *from, struct rights_range *out)
{
	size_t cnt = 0;
	for (uint64_t a = SMALLEST; a < from->size && cnt < ALIGNMENTS; a <<= 1) {
		uint64_t at = ((from->addr + CHUNK_HEADER + a - 1) & -a) - CHUNK_HEADER;
		at += at - from->addr < SMALLEST ? a : 0;
		if (at < s->end && s->end - at >= SMALLEST && pages_at(s->pages, at) != PAGE_ABSENT)
			out[cnt++] = (struct rights_range){ at, CHUNK_HEADER + 8 };
	}
	return cnt;
}

/* memalign leaves the header that its block had before, at the beginning of the mapping, and realloc leaves it, too. */
static int take(struct scan *s, struct glibc_mapped *found)
{
	struct rights_range ranges[1 + ALIGNMENTS] = { { found->chunk.addr, CHUNK_HEADER + 8 } };
	uint64_t words[1 + ALIGNMENTS][3];
	uint64_t start = found->start;
	size_t cnt = 1 + (found->chunk.addr == start ? list_aligned(s, &found->chunk, ranges + 1) : 0);
	int rc = memory_read_ranges(s->m, ranges, cnt, words, NULL);
	found->chunk.word = words[0][2];
	for (size_t i = 1; i < cnt && !rc; i++) {
		struct glibc_mapped aligned;
		if (!is_chunk(s, ranges[i].addr, words[i], &aligned) || aligned.start != start)
			continue;
		*found = aligned;
		found->chunk.word = words[i][2];
		break;
	}
	return rc ?: add(s, found);
}

/* Where in a page a chunk may begin. */
static uint64_t place(size_t i)
{
	return (16ull << i) - 16;
}

/* The words at each place of each page. */
static int read_places(struct scan *s, const uint64_t *at, size_t cnt, uint64_t words[][PLACES][2])
{
	static struct rights_range ranges[AT_ONCE * PLACES]; /* too large for a stack */
	for (size_t i = 0; i < cnt * PLACES; i++)
		ranges[i] = (struct rights_range){ at[i / PLACES] + place(i % PLACES), 16 };
	return memory_read_ranges(s->m, ranges, cnt * PLACES, words, NULL);
}

static int scan_words(struct scan *s, const uint64_t *at, size_t cnt)
{
	static uint64_t words[AT_ONCE][PLACES][2];
	int rc = cnt ? read_places(s, at, cnt, words) : 0;
	for (size_t i = 0; i < cnt && !rc; i++) {
		struct glibc_mapped found;
		for (size_t k = 0; k < PLACES && !rc && at[i] >= s->behind; k++) {
			if (is_chunk(s, at[i] + place(k), words[i][k], &found))
				rc = take(s, &found);
		}
	}
	return rc;
}

/* The pages of a chunk are stepped over, so few are read at a time where there are any, and many where there are none. */
static int look_through(struct scan *s, uint64_t start, uint64_t end)
{
	uint64_t at[AT_ONCE];
	size_t cnt = 0, most = 1;
	int rc = 0;
	s->behind = start;
	s->end = end;
	for (uint64_t page = start; page < end && !rc; page += PAGE_BYTES) {
		if (pages_at(s->pages, page) != PAGE_ABSENT)
			at[cnt++] = page;
		if (cnt < most)
			continue;
		uint64_t behind = s->behind;
		rc = scan_words(s, at, cnt);
		most = s->behind != behind ? 1 : most < AT_ONCE ? 2 * most : most;
		cnt = 0;
		if (s->behind > page)
			page = s->behind - PAGE_BYTES;
	}
	return rc ?: scan_words(s, at, cnt);
}

/* What lies between the pieces of the arenas. */
static int look_beside(struct scan *s, const struct space_region *r)
{
	uint64_t at = r->start;
	int rc = 0;
	for (size_t i = 0; i < s->h->pieces_cnt && !rc; i++) {
		const struct glibc_piece *p = &s->h->pieces[i];
		if (p->end <= at || p->start >= r->end)
			continue;
		if (p->start > at)
			rc = look_through(s, at, p->start & ~(PAGE_BYTES - 1));
		at = (p->end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	}
	return rc ?: at < r->end ? look_through(s, at, r->end) : 0;
}

static void count(struct memory *m, const struct glibc_layout *l, struct glibc_heap *h)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < h->mapped_cnt; i++)
		sum += h->mapped[i].chunk.addr + h->mapped[i].chunk.size - h->mapped[i].start;
	h->mapped_bytes = UINT64_MAX;
	if (!l->mapped_bytes || memory_read(m, l->mapped_bytes, &h->mapped_bytes, 8))
		return;
	if (h->mapped_bytes != sum)
		glibc_heap_odd(h, "%llu bytes of mmapped chunks were found, malloc counts %llu", (unsigned long long)sum,
			       (unsigned long long)h->mapped_bytes);
}

int glibc_mapped_read(struct memory *m, const struct space *space, const struct glibc_layout *l, struct glibc_heap *out)
{
	static struct pages pages; /* too large for a stack */
	struct scan s = { .m = m, .h = out, .pages = &pages };
	int rc = 0;
	pages.fd = -1;
	if (!m->source)
		pages_open(&pages, m->through ?: m->tgid);
	for (size_t i = 0; i < space->regions_cnt && !rc; i++) {
		const struct space_region *r = &space->regions[i];
		if (!r->ino && !*r->path && r->readable && r->writable && r->end - r->start <= REGION_MAX)
			rc = look_beside(&s, r);
	}
	pages_close(&pages);
	count(m, l, out);
	return rc;
}
