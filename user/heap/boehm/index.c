/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/index: see index.h. */
#include "boehm/index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "machine/address.h"

#define BLOCK_SHIFT 12
#define KEY_SHIFT 22
#define KEY_MAX ((ADDRESS_END >> KEY_SHIFT) - 1)
#define SMALLEST_POINTER 4096
#define BOTTOMS_MAX (1u << 16) /* lower tables, of 4 MiB each */
#define ENTRIES_MAX (1u << 25)
#define BATCH 128
#define FEW_SLOTS 16 /* at most so many slots of the upper table are read one by one */

struct bottom {
	uint64_t addr;
	uint32_t slot; /* slot of the upper table that led here */
};

struct bottoms {
	struct bottom *list;
	size_t list_cnt, list_cap;
};

static uint64_t word_at(const uint8_t *raw, size_t offset)
{
	uint64_t v;
	memcpy(&v, raw + offset, sizeof(v));
	return v;
}

static int push_bottom(struct bottoms *b, uint64_t addr, uint32_t slot)
{
	struct bottom *e = b->list_cnt < BOTTOMS_MAX ? VEC_PUSH(b, list) : NULL;
	if (!e)
		return b->list_cnt < BOTTOMS_MAX ? -ENOMEM : -E2BIG;
	*e = (struct bottom){ addr, slot };
	return 0;
}

static int read_top(struct memory *m, uint64_t top_index, uint64_t all_nils, struct bottoms *b)
{
	uint64_t words[INDEX_TOP];
	int rc = memory_read(m, top_index, words, sizeof(words));
	for (uint32_t i = 0; !rc && i < INDEX_TOP; i++) {
		if (words[i] != all_nils && words[i])
			rc = push_bottom(b, words[i], i);
	}
	return rc;
}

/* The words behind a large block's first one hold small numbers: the distance back to it. */
static int take_words(const uint8_t *raw, uint64_t key, struct block_index *out)
{
	for (uint64_t i = 0; i < INDEX_BOTTOM; i++) {
		uint64_t word = word_at(raw, i * 8);
		if (word < SMALLEST_POINTER)
			continue;
		struct index_entry *e = out->entries_cnt < ENTRIES_MAX ? VEC_PUSH(out, entries) : NULL;
		if (!e)
			return out->entries_cnt < ENTRIES_MAX ? -ENOMEM : -E2BIG;
		*e = (struct index_entry){ (key << KEY_SHIFT) | (i << BLOCK_SHIFT), word };
	}
	return 0;
}

static int take_bottom(const uint8_t *raw, const struct bottom *from, uint64_t all_nils, struct bottoms *chains,
		       struct block_index *out)
{
	uint64_t key = word_at(raw, BOTTOM_KEY), next = word_at(raw, BOTTOM_HASH_LINK);
	if (key > KEY_MAX || key % INDEX_TOP != from->slot) {
		out->strange++;
		return 0;
	}
	int rc = take_words(raw, key, out);
	return rc || !next || next == all_nils ? rc : push_bottom(chains, next, from->slot);
}

/* The list grows by the tables found in hash chains; its limit also ends cycles. */
static int read_bottoms(struct memory *m, struct bottoms *b, uint64_t all_nils, struct block_index *out)
{
	size_t most = b->list_cnt < FEW_SLOTS ? FEW_SLOTS : BATCH;
	uint8_t *raw = malloc(most * BOTTOM_SZ);
	int rc = raw ? 0 : -ENOMEM;
	for (size_t at = 0; !rc && at < b->list_cnt;) {
		struct rights_range ranges[BATCH];
		size_t n = 0;
		for (; n < most && at + n < b->list_cnt; n++)
			ranges[n] = (struct rights_range){ b->list[at + n].addr, BOTTOM_SZ };
		rc = memory_read_ranges(m, ranges, n, raw, NULL);
		for (size_t i = 0; !rc && i < n; i++, at++) {
			struct bottom from = b->list[at];
			rc = take_bottom(raw + i * BOTTOM_SZ, &from, all_nils, b, out);
		}
	}
	free(raw);
	return rc;
}

static int by_block(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;
	return x->block < y->block ? -1 : x->block > y->block;
}

static void sort_entries(struct block_index *x)
{
	size_t kept = 0;
	bool sorted = true;
	for (size_t i = 1; sorted && i < x->entries_cnt; i++)
		sorted = x->entries[i - 1].block < x->entries[i].block;
	if (sorted)
		return;
	qsort(x->entries, x->entries_cnt, sizeof(*x->entries), by_block);
	for (size_t i = 0; i < x->entries_cnt; i++) {
		if (!kept || x->entries[kept - 1].block != x->entries[i].block)
			x->entries[kept++] = x->entries[i];
	}
	x->entries_cnt = kept;
}

/* Takes ownership of b->list. top_rc: result of reading the upper table. */
static int read_below(struct memory *m, struct bottoms *b, int top_rc, uint64_t all_nils, struct block_index *out)
{
	*out = (struct block_index){ 0 };
	int rc = top_rc ? top_rc : read_bottoms(m, b, all_nils, out);
	free(b->list);
	if (rc)
		index_free(out);
	else
		sort_entries(out);
	return rc;
}

int index_read(struct memory *m, uint64_t top_index, uint64_t all_nils, struct block_index *out)
{
	struct bottoms b = { 0 };
	int rc = read_top(m, top_index, all_nils, &b);
	return read_below(m, &b, rc, all_nils, out);
}

/* Slots for these addresses. A result above FEW_SLOTS means that there are too many. */
static size_t slots_of(const uint64_t *addrs, size_t cnt, uint32_t *slots)
{
	size_t n = 0;
	for (size_t i = 0; i < cnt && n <= FEW_SLOTS; i++) {
		uint32_t slot = (addrs[i] >> KEY_SHIFT) % INDEX_TOP;
		if (n && slots[n - 1] == slot)
			continue;
		if (n < FEW_SLOTS)
			slots[n] = slot;
		n++;
	}
	return n;
}

static int read_slots(struct memory *m, uint64_t top_index, uint64_t all_nils, const uint32_t *slots, size_t cnt,
		      struct bottoms *b)
{
	struct rights_range ranges[FEW_SLOTS];
	uint64_t words[FEW_SLOTS];
	size_t unreadable;
	for (size_t i = 0; i < cnt; i++)
		ranges[i] = (struct rights_range){ top_index + slots[i] * 8ull, 8 };
	int rc = memory_read_ranges(m, ranges, cnt, words, &unreadable);
	if (!rc && unreadable)
		rc = -EFAULT;
	for (size_t i = 0; !rc && i < cnt; i++) {
		if (words[i] != all_nils && words[i])
			rc = push_bottom(b, words[i], slots[i]);
	}
	return rc;
}

/* Keeps the last entry at or before each address (ascending). */
static void keep(struct block_index *x, const uint64_t *addrs, size_t cnt)
{
	size_t kept = 0, next = 0;
	for (size_t i = 0; i < x->entries_cnt && next < cnt; i++) {
		uint64_t end = i + 1 < x->entries_cnt ? x->entries[i + 1].block : UINT64_MAX;
		bool wanted = false;
		for (; next < cnt && addrs[next] < end; next++)
			wanted |= addrs[next] >= x->entries[i].block;
		if (wanted)
			x->entries[kept++] = x->entries[i];
	}
	x->entries_cnt = kept;
}

/* A large block that holds an address may begin below the 4 MiB of its lower table, in one that was not read. */
static bool begin_below(const struct block_index *x, const uint64_t *addrs, size_t cnt)
{
	size_t next = 0;
	for (size_t i = 0; i < cnt; i++) {
		while (next < x->entries_cnt && x->entries[next].block <= addrs[i])
			next++;
		if (!next || x->entries[next - 1].block >> KEY_SHIFT != addrs[i] >> KEY_SHIFT)
			return true;
	}
	return false;
}

int index_read_of(struct memory *m, uint64_t top_index, uint64_t all_nils, const uint64_t *addrs, size_t cnt,
		  struct block_index *out)
{
	struct bottoms b = { 0 };
	uint32_t slots[FEW_SLOTS];
	size_t n = slots_of(addrs, cnt, slots);
	int rc = -E2BIG;
	*out = (struct block_index){ 0 };
	if (!cnt)
		return 0;
	if (n <= FEW_SLOTS) {
		rc = read_slots(m, top_index, all_nils, slots, n, &b);
		rc = read_below(m, &b, rc, all_nils, out);
	}
	if (n > FEW_SLOTS || (!rc && begin_below(out, addrs, cnt))) {
		index_free(out);
		rc = index_read(m, top_index, all_nils, out);
	}
	if (!rc)
		keep(out, addrs, cnt);
	return rc;
}

void index_free(struct block_index *x)
{
	free(x->entries);
	*x = (struct block_index){ 0 };
}
