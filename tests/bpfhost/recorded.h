/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests over recorded stacks (record.h), of the machine for which host.h was compiled. They must come out as they were
 * recorded, whatever is missing, and whatever was remembered. STACKS: their folder.
 */
#ifndef ALYS_TESTS_BPFHOST_RECORDED_H
#define ALYS_TESTS_BPFHOST_RECORDED_H

#include <dirent.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "bpfhost/host.h"
#include "bpfhost/record.h"

/* Those of aarch64 have another register. */
#define HAS_LINK (sizeof(struct walk_link) > 0)
#define RECORDS (HAS_LINK ? RECORD_MAGIC_ARM64 : RECORD_MAGIC)

struct recording {
	struct buf bytes;
	uint64_t ip, sp, bp, cfa, link;
	uint32_t n, end;
	const uint8_t *ips;
};

static void read_pages(struct cursor *c)
{
	uint32_t pages = (uint32_t)cursor_le(c, 4);
	for (uint32_t i = 0; i < pages; i++) {
		uint64_t addr = cursor_le(c, 8);
		uint32_t rows = (uint32_t)cursor_le(c, 4), cnt = (uint32_t)cursor_le(c, 4);
		uint32_t copy[4096];
		struct alys_spec spec[256];
		assert_true(rows <= 4096 && cnt <= 256);
		memcpy(copy, cursor_bytes(c, rows * sizeof(*copy)), rows * sizeof(*copy));
		memcpy(spec, cursor_bytes(c, cnt * sizeof(*spec)), cnt * sizeof(*spec));
		host_add_page(addr, copy, rows, spec, cnt);
	}
}

static void read_recording(const char *path, struct recording *r)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	r->bytes = (struct buf){ 0 };
	uint8_t *room = buf_room(&r->bytes, 1 << 20);
	r->bytes.len = fread(room, 1, 1 << 20, f);
	fclose(f);
	struct cursor c = cursor_over(r->bytes.data, r->bytes.len);
	assert_memory_equal(cursor_bytes(&c, 8), RECORDS, 8);
	r->ip = cursor_le(&c, 8);
	r->sp = cursor_le(&c, 8);
	r->bp = cursor_le(&c, 8);
	r->cfa = cursor_le(&c, 8);
	r->link = HAS_LINK ? cursor_le(&c, 8) : 0;
	config.pac_mask = HAS_LINK ? cursor_le(&c, 8) : 0;
	r->n = (uint32_t)cursor_le(&c, 4);
	r->end = (uint32_t)cursor_le(&c, 4);
	r->ips = cursor_bytes(&c, r->n * 8ul);
	host_reset();
	host.link = r->link;
	host.stack_at = cursor_le(&c, 8);
	host.stack_sz = cursor_le(&c, 4);
	host.stack = cursor_bytes(&c, host.stack_sz);
	read_pages(&c);
	assert_false(c.bad);
	assert_int_equal(cursor_left(&c), 0);
}

static void walk_recording(const struct recording *r, const char *name)
{
	const struct walk_slot *w = host_walk(r->ip, r->sp, r->bp, r->cfa);
	if (w->rec.n != r->n || w->rec.end != r->end || memcmp(w->ips, r->ips, r->n * 8ul))
		fail_msg("%s: %u frames, end %u, not %u, %u", name, w->rec.n, w->rec.end, r->n, r->end);
}

/* Runs fn over each recording; there must be some. */
static void each_recording(void (*fn)(const struct recording *r, const char *name))
{
	DIR *d = opendir(STACKS);
	struct dirent *e;
	int seen = 0;
	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[512];
		struct recording r;
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), STACKS "/%s", e->d_name);
		read_recording(path, &r);
		fn(&r, e->d_name);
		buf_free(&r.bytes);
		seen++;
	}
	closedir(d);
	assert_true(seen >= 8);
}

static void test_recorded(void **state)
{
	(void)state;
	each_recording(walk_recording);
}

/* Whatever page is missing, a walk that may sleep finds the same stack, and one that may not reports it. */
static void walk_with_pages_away(const struct recording *r, const char *name)
{
	for (uint64_t away = (r->sp & ~4095ull) + 4096; away < host.stack_at + host.stack_sz; away += 4096) {
		host.away_from = away;
		config.walk = ALYS_WALK_SLEEP;
		host.fetches = 0;
		walk_recording(r, name);
		assert_true(host.fetches > 0);
		config.walk = ALYS_WALK_TABLES;
		const struct walk_slot *w = host_walk(r->ip, r->sp, r->bp, r->cfa);
		assert_int_equal(w->rec.end, ALYS_STOP_FAULT);
		assert_true(w->rec.n < r->n);
		assert_memory_equal(w->ips, r->ips, w->rec.n * 8ul);
	}
}

static void test_pages_away(void **state)
{
	(void)state;
	each_recording(walk_with_pages_away);
	config.walk = ALYS_WALK_TABLES;
}

static void walk_cut(const struct recording *r, const char *name)
{
	(void)name;
	config.max_frames = r->n - 1;
	const struct walk_slot *w = host_walk(r->ip, r->sp, r->bp, r->cfa);
	assert_int_equal(w->rec.n, r->n - 1);
	assert_int_equal(w->rec.end, ALYS_STOP_TRUNCATED);
	assert_memory_equal(w->ips, r->ips, w->rec.n * 8ul);
	config.max_frames = 256;
}

static void test_truncated(void **state)
{
	(void)state;
	each_recording(walk_cut);
}

/* A walk with remembered frames must give the same result as one without. */
static void walk_both_ways(const struct recording *r, const char *name, uint64_t ip, uint64_t bp)
{
	static struct walk_slot recalled;
	recalled = *host_walk(ip, r->sp, bp, r->cfa);
	host_slot.m.kept = 0;
	const struct walk_slot *w = host_walk(ip, r->sp, bp, r->cfa);
	if (w->rec.n != recalled.rec.n || w->rec.end != recalled.rec.end || w->rec.hash != recalled.rec.hash ||
	    memcmp(w->ips, recalled.ips, w->rec.n * 8ul))
		fail_msg("%s: %u frames, end %u, remembered %u, %u", name, w->rec.n, w->rec.end, recalled.rec.n,
			 recalled.rec.end);
}

#define BEHIND 32768 /* zeros above the recording: a word more or less of a window makes no difference there */

static void walk_then(const struct recording *r, const char *name, const uint8_t *stack, const uint8_t *other, int times,
		      uint64_t bp)
{
	host.stack = stack;
	for (int walk = 0; walk < times; walk++)
		walk_recording(r, name);
	host.stack = other;
	walk_both_ways(r, name, r->ip, bp);
}

/* With the fp of before, and with another one that a step can go by. */
static void walk_with_other_word(const struct recording *r, const char *name, const uint8_t *stack, uint8_t *other, uint32_t at,
				 int times)
{
	const uint64_t changes[] = { 0, r->ip, 8, 1ull << 40 };
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint64_t word;
		memcpy(&word, stack + at, 8);
		word = i < 2 ? changes[i] : word + changes[i];
		memcpy(other + at, &word, 8);
		walk_then(r, name, stack, other, times, r->bp);
		walk_then(r, name, stack, other, times, r->sp + 64);
	}
	memcpy(other + at, stack + at, 8);
}

/* Whichever word of the stack has changed since the last walk. */
static void walk_with_other_words(const struct recording *r, const char *name)
{
	uint8_t *stack = calloc(1, host.stack_sz + BEHIND), *other = calloc(1, host.stack_sz + BEHIND);
	memcpy(stack, host.stack, host.stack_sz);
	memcpy(other, host.stack, host.stack_sz);
	uint32_t words_end = host.stack_sz & ~7u;
	host.stack_sz += BEHIND;
	for (uint32_t at = 0; at < words_end; at += 8) {
		walk_with_other_word(r, name, stack, other, at, 1);
		walk_with_other_word(r, name, stack, other, at, 2);
	}
	host.stack = stack;
	walk_both_ways(r, name, r->ip, r->bp + 8);
	walk_both_ways(r, name, r->ip + 1, r->bp);
	free(stack);
	free(other);
}

static void test_other_words(void **state)
{
	(void)state;
	each_recording(walk_with_other_words);
}

static int known; /* recordings whose last walk was known */

static void walk_once_more(const struct recording *r, const char *name)
{
	walk_recording(r, name);
	for (int again = 0; again < 2; again++) {
		walk_recording(r, name);
		/* In bare builds functions save x30 alone: such steps are walked again. */
		if (r->n < WALK_REMEMBERED && strncmp(name, "bare", 4) != 0)
			assert_true(host_slot.s.recalled);
	}
	known += host_slot.s.known;
}

static void test_remembered(void **state)
{
	(void)state;
	each_recording(walk_once_more);
	assert_true(known > 0);
}

#endif
