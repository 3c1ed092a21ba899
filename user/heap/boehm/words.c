/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/words: see words.h. */
#include "boehm/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"

#define RUN_MAX (256u << 10) /* size of a range; if one of its pages is unreadable, the whole range is lost */
#define BATCH_MAX (8u << 20) /* size of a system call */
#define RANGES_MAX 256

static uint64_t rounded(uint64_t n)
{
	return (n + 7) & ~7ull;
}

int words_begin(struct words *w, const struct boehm_heap *h, uint64_t max)
{
	*w = (struct words){ 0 };
	w->at = malloc((h->blocks_cnt + 1) * sizeof(*w->at));
	w->first = calloc(h->marks_cnt + 1, sizeof(*w->first));
	if (!w->at || !w->first)
		return -ENOMEM;
	for (size_t b = 0; b < h->blocks_cnt; b++) {
		bool traced = words_traced(h->blocks[b].kind);
		w->at[b] = traced ? w->bytes_cnt : WORDS_NONE;
		w->bytes_cnt += traced ? rounded(h->blocks[b].bytes) : 0;
	}
	if (w->bytes_cnt > max)
		return -EFBIG;
	if (!w->bytes_cnt)
		return 0;
	w->bytes = mmap(NULL, w->bytes_cnt, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (w->bytes == MAP_FAILED)
		w->bytes = NULL;
	return w->bytes ? 0 : -ENOMEM;
}

void words_free(struct words *w)
{
	if (w->bytes)
		munmap(w->bytes, w->bytes_cnt);
	free(w->at);
	free(w->first);
	*w = (struct words){ 0 };
}

bool words_late(uint64_t deadline_ns)
{
	return deadline_ns && now_ns() > deadline_ns;
}

/* Ranges that are adjacent in the copy, read in one call. */
struct batch {
	struct memory *memory;
	struct words *words;
	struct rights_range ranges[RANGES_MAX];
	size_t cnt;
	uint64_t at, bytes; /* in the copy */
	uint64_t deadline_ns;
};

static int batch_read(struct batch *b)
{
	size_t gone = 0;
	int rc = 0;
	if (words_late(b->deadline_ns))
		return -ETIMEDOUT;
	if (b->cnt)
		rc = memory_read_ranges(b->memory, b->ranges, b->cnt, b->words->bytes + b->at, &gone);
	b->words->unreadable += gone;
	b->at += b->bytes;
	b->cnt = b->bytes = 0;
	return rc;
}

static int batch_add(struct batch *b, uint64_t addr, uint64_t n)
{
	while (n) {
		struct rights_range *last = b->cnt ? &b->ranges[b->cnt - 1] : NULL;
		uint64_t part = n < RUN_MAX ? n : RUN_MAX;
		if (last && last->addr + last->n == addr && last->n + part <= RUN_MAX) {
			last->n += part;
		} else {
			int rc = b->cnt == RANGES_MAX || b->bytes >= BATCH_MAX ? batch_read(b) : 0;
			if (rc)
				return rc;
			b->ranges[b->cnt++] = (struct rights_range){ addr, part };
		}
		b->bytes += part;
		addr += part;
		n -= part;
	}
	return 0;
}

/* Sizes are rounded up to full words: a block's size need not be a multiple of eight. */
static int copy_traced(struct words *w, struct memory *m, const struct boehm_heap *h, uint64_t deadline_ns)
{
	struct batch *b = calloc(1, sizeof(*b));
	int rc = b ? 0 : -ENOMEM;
	if (b)
		*b = (struct batch){ .memory = m, .words = w, .deadline_ns = deadline_ns };
	for (size_t i = 0; !rc && i < h->blocks_cnt; i++) {
		if (w->at[i] != WORDS_NONE)
			rc = batch_add(b, h->blocks[i].addr, rounded(h->blocks[i].bytes));
	}
	if (!rc)
		rc = batch_read(b);
	free(b);
	return rc;
}

static void take_first(struct words *w, const struct heap_block *b, const uint8_t *bytes, uint64_t n)
{
	for (uint32_t k = 0; k < b->objects && k * b->size + 4 <= n; k++)
		memcpy(&w->first[b->marks + k], bytes + k * b->size, 4);
}

/* Pointer-free blocks of small objects are read whole: cheaper than one range per object. */
static int copy_first(struct words *w, struct memory *m, const struct boehm_heap *h, uint64_t deadline_ns)
{
	struct rights_range ranges[RANGES_MAX];
	size_t blocks[RANGES_MAX], cnt = 0;
	uint8_t *bytes = malloc(RANGES_MAX * BOEHM_BLOCK);
	int rc = bytes ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i <= h->blocks_cnt; i++) {
		const struct heap_block *b = i < h->blocks_cnt ? &h->blocks[i] : NULL;
		if (cnt == RANGES_MAX || (!b && cnt)) {
			size_t gone = 0, at = 0;
			rc = words_late(deadline_ns) ? -ETIMEDOUT : memory_read_ranges(m, ranges, cnt, bytes, &gone);
			for (size_t k = 0; !rc && k < cnt; at += ranges[k++].n)
				take_first(w, &h->blocks[blocks[k]], bytes + at, ranges[k].n);
			w->unreadable += gone;
			cnt = 0;
		}
		if (b && w->at[i] == WORDS_NONE) {
			bool large = b->objects <= 1 || b->bytes > BOEHM_BLOCK;
			blocks[cnt] = i;
			ranges[cnt++] = (struct rights_range){ b->addr, large ? 4 : b->bytes };
		}
	}
	free(bytes);
	return rc;
}

int words_copy(struct words *w, struct memory *m, const struct boehm_heap *h, uint64_t deadline_ns)
{
	int rc = copy_traced(w, m, h, deadline_ns);
	if (!rc)
		rc = copy_first(w, m, h, deadline_ns);
	for (size_t b = 0; !rc && b < h->blocks_cnt; b++) {
		if (w->at[b] != WORDS_NONE)
			take_first(w, &h->blocks[b], w->bytes + w->at[b], h->blocks[b].bytes);
	}
	return rc;
}

const uint64_t *words_of(const struct words *w, const struct boehm_heap *h, size_t block, uint32_t index, size_t *n)
{
	const struct heap_block *b = &h->blocks[block];
	*n = 0;
	if (w->at[block] == WORDS_NONE || (index + 1ull) * b->size > b->bytes)
		return NULL;
	*n = b->size / 8;
	return (const uint64_t *)(const void *)(w->bytes + w->at[block] + index * b->size);
}
