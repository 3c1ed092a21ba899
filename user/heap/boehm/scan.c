/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/scan: see scan.h. */
#include "boehm/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "boehm/index.h"
#include "machine/address.h"

#define RUN 16 /* equal words in a row that may be part of the table */
#define PAGE 4096
#define CHUNK (4u << 20)
#define OVERLAP (INDEX_TOP * 8)
#define NEAR CHUNK /* the collector's other variables are within this distance of the table */
#define MARK_ENTRY 16
#define STATE_WITHIN 40 /* words */
#define STATE_MAX 5

struct words {
	const uint64_t *at;
	size_t cnt;
	uint64_t addr;
};

static bool is_pointer(uint64_t w)
{
	return w >= PAGE && w < ADDRESS_END && w % 8 == 0;
}

static bool is_empty_table(struct memory *m, uint64_t addr)
{
	static const uint8_t zeroes[BOTTOM_SZ];
	uint8_t raw[BOTTOM_SZ];
	return !memory_read(m, addr, raw, sizeof(raw)) && !memcmp(raw, zeroes, sizeof(raw));
}

/* Reads the keys of the lower tables to which words [from, until) point; UINT64_MAX for other words. */
static int read_keys(struct memory *m, const struct words *w, size_t from, size_t until, uint64_t nil, uint64_t *keys)
{
	struct rights_range ranges[2 * INDEX_TOP];
	for (size_t i = from; i < until; i++) {
		bool leads = w->at[i] != nil && is_pointer(w->at[i]);
		ranges[i - from] = (struct rights_range){ w->at[i] + BOTTOM_KEY, leads ? 8 : 0 };
	}
	uint64_t packed[2 * INDEX_TOP];
	int rc = memory_read_ranges(m, ranges, until - from, packed, NULL);
	for (size_t i = 0, at = 0; !rc && i < until - from; i++)
		keys[i] = ranges[i].n ? packed[at++] : UINT64_MAX;
	return rc;
}

/* Whether each entry of a table beginning at word `start` is in the slot that its key determines. */
static bool fits(const struct words *w, const uint64_t *keys, size_t from, size_t start, uint64_t nil)
{
	size_t entries = 0;
	for (size_t i = 0; i < INDEX_TOP; i++) {
		uint64_t key = keys[start + i - from];
		if (w->at[start + i] == nil)
			continue;
		if (key == UINT64_MAX || key % INDEX_TOP != i)
			return false;
		entries++;
	}
	return entries > 0;
}

/* Given that the run [run, run + RUN) is part of the table, finds the table's start by the keys of entries around it. */
static int look_around(struct memory *m, const struct words *w, size_t run, struct scan_hit *out)
{
	uint64_t nil = w->at[run], keys[2 * INDEX_TOP];
	size_t from = run > INDEX_TOP - RUN ? run - (INDEX_TOP - RUN) : 0;
	size_t until = run + INDEX_TOP < w->cnt ? run + INDEX_TOP : w->cnt;
	int rc = read_keys(m, w, from, until, nil, keys);
	if (rc)
		return rc;
	for (size_t i = from; i < until; i++) {
		uint64_t key = keys[i - from], slot = key % INDEX_TOP;
		if (key == UINT64_MAX || i < from + slot || i - slot + INDEX_TOP > until)
			continue;
		if (fits(w, keys, from, i - slot, nil)) {
			*out = (struct scan_hit){ .top_index = w->addr + (i - slot) * 8, .all_nils = nil };
			return 0;
		}
	}
	return -ENOENT;
}

static size_t run_at(const struct words *w, size_t i)
{
	size_t n = 1;
	while (i + n < w->cnt && w->at[i + n] == w->at[i])
		n++;
	return n;
}

static int search(struct memory *m, const struct words *w, struct scan_hit *out)
{
	uint64_t refused = 0; /* a nil value already rejected, which is not checked again for further runs of it */
	for (size_t i = 0; i < w->cnt;) {
		size_t n = run_at(w, i);
		if (n >= RUN && w->at[i] != refused && is_pointer(w->at[i])) {
			int rc = is_empty_table(m, w->at[i]) ? look_around(m, w, i, out) : -ENOENT;
			if (rc != -ENOENT)
				return rc;
			refused = w->at[i];
		}
		i += n;
	}
	return -ENOENT;
}

static bool is_wanted(const struct space *s, uint64_t at)
{
	const struct space_region *r = space_find(s, at);
	return r && r->readable && r->writable;
}

static uint64_t page_end(uint64_t at, uint64_t end)
{
	uint64_t next = (at / PAGE + 1) * PAGE;
	return next < end ? next : end;
}

/* Pages that are unreadable or not writable are returned as zeros. They are not asked for: each refusal would cost a call. */
static int read_words(struct memory *m, const struct space *s, uint64_t start, uint64_t end, uint64_t *out)
{
	struct rights_range pages[CHUNK / PAGE + 1];
	int rc = 0;
	memset(out, 0, end - start);
	for (uint64_t at = start, next; at < end && !rc; at = next) {
		size_t cnt = 0;
		for (next = at; next < end && is_wanted(s, next); next = page_end(next, end))
			pages[cnt++] = (struct rights_range){ next, page_end(next, end) - next };
		rc = cnt ? memory_read_ranges(m, pages, cnt, (uint8_t *)out + (at - start), NULL) : 0;
		next = cnt ? next : page_end(at, end);
	}
	return rc;
}

/* Base, limit and top of the mark stack, three adjacent variables; when idle, top is one entry below base. */
static bool is_mark_stack(const uint64_t *w)
{
	uint64_t base = w[0], size = w[1] - w[0], above = w[2] - (base - MARK_ENTRY);
	return is_pointer(base) && is_pointer(w[1]) && w[1] > base && size % (PAGE * MARK_ENTRY) == 0 && size <= 1ull << 40 &&
	       above <= size && above % MARK_ENTRY == 0;
}

/* The mark state follows the variable that holds the mark stack's size in entries, a few words on. 0: not found. */
static uint64_t find_mark_state(const uint64_t *w, size_t cnt, uint64_t addr)
{
	for (size_t i = 3; i + 1 < cnt && i < STATE_WITHIN; i++) {
		if (w[i] == (w[1] - w[0]) / MARK_ENTRY)
			return (uint32_t)w[i + 1] <= STATE_MAX ? addr + (i + 1) * 8 : 0;
	}
	return 0;
}

static int find_mark_stack(struct memory *m, const struct space *s, uint64_t start, struct scan_hit *hit)
{
	uint64_t end = hit->top_index;
	uint64_t *words = malloc(NEAR);
	size_t hits = 0, surer = 0;
	start = end - start > NEAR ? end - NEAR : start;
	int rc = words ? read_words(m, s, start, end, words) : -ENOMEM;
	for (size_t i = 0; !rc && i + 3 <= (end - start) / 8; i++) {
		uint64_t addr = start + i * 8, state;
		if (!is_mark_stack(words + i))
			continue;
		state = find_mark_state(words + i, (end - start) / 8 - i, addr);
		hits++;
		surer += state != 0;
		if (state || !surer) {
			hit->mark_stack = addr;
			hit->mark_state = state;
		}
	}
	free(words);
	if (surer != 1 && (surer || hits != 1))
		hit->mark_stack = hit->mark_state = 0;
	return rc;
}

int scan_range(struct memory *m, const struct space *s, uint64_t start, uint64_t end, struct scan_hit *out)
{
	uint64_t *words = malloc(CHUNK);
	int rc = words ? -ENOENT : -ENOMEM;
	start = (start + 7) & ~7ull;
	end &= ~7ull;
	for (uint64_t at = start; rc == -ENOENT && at < end;) {
		uint64_t until = end - at > CHUNK ? at + CHUNK : end;
		struct words w = { words, (until - at) / 8, at };
		int failed = read_words(m, s, at, until, words);
		rc = failed ?: search(m, &w, out);
		at = until == end ? end : until - OVERLAP;
	}
	free(words);
	return rc ?: find_mark_stack(m, s, start, out);
}
