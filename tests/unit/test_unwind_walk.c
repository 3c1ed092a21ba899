/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack walk, compiled for the host: recorded stacks must come out as libdw and the kernel saw
 * them; hand-made ones cover each way to end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "bpfhost/host.h"
#include "bpfhost/record.h"
#include "catalog/catalog.h"

#define STACKS "tests/bpfhost/stacks"

/* The numbers of the wire are those of the file. */
_Static_assert(ALYS_STOP_COMPLETE == (int)STACK_END_COMPLETE && ALYS_STOP_UNKNOWN == (int)STACK_END_UNKNOWN &&
		       ALYS_STOP_TRUNCATED == (int)STACK_END_TRUNCATED && ALYS_STOP_FAULT == (int)STACK_END_FAULT &&
		       ALYS_STOP_NO_TABLE == (int)STACK_END_NO_TABLE && ALYS_STOP_BAD_CFA == (int)STACK_END_BAD_CFA &&
		       ALYS_STOP_UNSUPPORTED == (int)STACK_END_UNSUPPORTED,
	       "stop reasons");

struct recording {
	struct buf bytes;
	uint64_t ip, sp, bp, cfa;
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
	assert_memory_equal(cursor_bytes(&c, 8), RECORD_MAGIC, 8);
	r->ip = cursor_le(&c, 8);
	r->sp = cursor_le(&c, 8);
	r->bp = cursor_le(&c, 8);
	r->cfa = cursor_le(&c, 8);
	r->n = (uint32_t)cursor_le(&c, 4);
	r->end = (uint32_t)cursor_le(&c, 4);
	r->ips = cursor_bytes(&c, r->n * 8ul);
	host_reset();
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
	assert_true(seen >= 10);
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

/* A trampoline in place of any return address is resolved. */
static void walk_with_return_probe(const struct recording *r, const char *name)
{
	const uint64_t trampoline = 0x7fffffffe000;
	uint8_t *stack = malloc(host.stack_sz);
	memcpy(stack, host.stack, host.stack_sz);
	uint64_t caller;
	memcpy(&caller, r->ips + 8, 8);
	struct return_instance ri = { .orig_ret_vaddr = caller, .stack = r->cfa - 8 };
	struct return_instance other = { .orig_ret_vaddr = 1, .stack = r->cfa, .next = &ri };
	struct uprobe_task utask = { .return_instances = &other };
	memcpy(stack + (r->cfa - 8 - host.stack_at), &trampoline, 8);
	host.task.utask = &utask;
	host.stack = stack;
	walk_recording(r, name);
	assert_int_equal(host_slot.s.missed ? host_slot.s.missed != trampoline : 1, 1);
	free(stack);
}

/* The caller is determined before the walk, and the walk needs no further read. */
static void walk_after_caller(const struct recording *r, const char *name)
{
	struct pt_regs regs = { .ip = r->ip, .sp = r->sp, .bp = r->bp };
	uint64_t caller;
	memcpy(&caller, r->ips + 8, 8);
	walk_recording(r, name);
	uint32_t reads = host.reads;
	host.reads = 0;
	walk_begin(&regs, &host_slot, r->cfa, 1);
	assert_int_equal(caller_of(r->cfa, 0), caller);
	assert_int_equal(host.reads, 1);
	walk_tables(0);
	assert_true(host.reads <= reads);
	assert_int_equal(host_slot.rec.n, r->n);
	assert_memory_equal(host_slot.ips, r->ips, r->n * 8ul);
}

static void test_caller(void **state)
{
	(void)state;
	each_recording(walk_after_caller);
}

static void test_return_probe(void **state)
{
	(void)state;
	each_recording(walk_with_return_probe);
}

/* A stack of words at 0x7000, code pages at 0x1000 and 0x2000. */
#define SP 0x7000ull
#define CODE 0x10000ull
#define PLAIN(words, slot) ((uint32_t)(words) << ALYS_ROW_CFA_SHIFT | (slot))

static uint64_t words[512];

static const struct walk_slot *walk_words(uint32_t row, uint64_t bp)
{
	host_reset();
	host.stack_at = SP;
	host.stack_sz = sizeof(words);
	host.stack = (const uint8_t *)words;
	host_add_page(CODE, &row, 1, NULL, 0);
	return host_walk(CODE + 0x800, SP, bp, SP + 8);
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

#define BEHIND 8192 /* zeros above the recording: a word more or less of a window makes no difference there */

/* times: 2 so that the walk's words are listed. */
static void walk_with_other_word(const struct recording *r, const char *name, const uint8_t *stack, uint8_t *other, uint32_t at,
				 int times)
{
	const uint64_t changes[] = { 0, r->ip, 8, 1ull << 40 };
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint64_t word;
		host.stack = stack;
		for (int walk = 0; walk < times; walk++)
			walk_recording(r, name);
		memcpy(&word, stack + at, 8);
		word = i < 2 ? changes[i] : word + changes[i];
		memcpy(other + at, &word, 8);
		host.stack = other;
		walk_both_ways(r, name, r->ip, r->bp);
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

static int listed; /* walks whose words were compared */

/* The second walk compares frames and lists their words, the third compares these. */
static void walk_once_more(const struct recording *r, const char *name)
{
	walk_recording(r, name);
	for (int again = 0; again < 2; again++) {
		walk_recording(r, name);
		if (r->n < WALK_REMEMBERED)
			assert_true(host_slot.s.recalled);
	}
	listed += host_slot.m.words > 0;
}

static void test_remembered(void **state)
{
	(void)state;
	each_recording(walk_once_more);
	assert_true(listed > 0);
}

/* A new list of mappings invalidates what was remembered with the old one. */
static void test_new_tables(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[0] = words[2] = CODE + 8;
	const struct walk_slot *w = walk_words(PLAIN(2, 0), 0);
	assert_int_equal(w->rec.n, 3);
	w = walk_words(PLAIN(4, 0), 0);
	assert_int_equal(w->rec.n, 2);
	assert_false(w->s.recalled);
}

static void test_zero_is_the_bottom(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[0] = CODE + 8;
	words[2] = CODE + 16;
	const struct walk_slot *w = walk_words(PLAIN(2, 0), 0);
	assert_int_equal(w->rec.end, ALYS_STOP_COMPLETE);
	assert_int_equal(w->rec.n, 3);
	assert_int_equal(w->ips[2], CODE + 16);
}

static void test_bad_frames(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[0] = CODE + 8;
	/* CFA by a frame pointer below the stack pointer. */
	const struct walk_slot *w = walk_words(ALYS_ROW_BP | PLAIN(2, 0), SP - 64);
	assert_int_equal(w->rec.end, ALYS_STOP_BAD_CFA);
	assert_int_equal(w->rec.n, 2);
	w = walk_words(ALYS_ROW_BP | PLAIN(2, 0), SP + 65);
	assert_int_equal(w->rec.end, ALYS_STOP_BAD_CFA);
	w = walk_words(ALYS_ROW_BP | PLAIN(2, 0), SP + 65536);
	assert_int_equal(w->rec.end, ALYS_STOP_FAULT);
	w = walk_words(ALYS_ROW_SPECIAL_OF(ALYS_ROW_UNSUPPORTED, ALYS_ROW_WHY_RA), 0);
	assert_int_equal(w->rec.end, ALYS_STOP_UNSUPPORTED);
	w = walk_words(ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, 5), 0);
	assert_int_equal(w->rec.end, ALYS_STOP_UNSUPPORTED);
	w = walk_words(ALYS_ROW_SPECIAL_OF(ALYS_ROW_END, 0), 0);
	assert_int_equal(w->rec.end, ALYS_STOP_COMPLETE);
	assert_int_equal(w->rec.n, 2);
}

/* Code without rows: frame pointers as long as they are plausible, and the address is looked up if unknown. */
static void test_frame_pointers(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[0] = 0x20008; /* generated code, in no mapping */
	words[4] = SP + 80;
	words[5] = 0x20100;
	words[10] = 0; /* rbp of the deepest frame */
	words[11] = 0x20200;
	const struct walk_slot *w = walk_words(PLAIN(1, 0), SP + 32);
	assert_int_equal(w->rec.end, ALYS_STOP_COMPLETE);
	assert_int_equal(w->rec.n, 4);
	assert_int_equal(w->ips[3], 0x20200);
	assert_int_equal(w->s.missed, 0x20008);
	w = walk_words(PLAIN(1, 0), SP - 8);
	assert_int_equal(w->rec.end, ALYS_STOP_NO_TABLE);
	assert_int_equal(w->rec.n, 2);
	/* A register that points into the stack by chance leads to a zero: not the bottom. */
	words[5] = 0;
	w = walk_words(PLAIN(1, 0), SP + 32);
	assert_int_equal(w->rec.end, ALYS_STOP_NO_TABLE);
}

/* Two rows that lead to each other cannot make the walk endless: each step goes up. */
static void test_recursion_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 512; i++)
		words[i] = CODE + 8;
	const struct walk_slot *w = walk_words(PLAIN(1, 0), 0);
	assert_int_equal(w->rec.end, ALYS_STOP_TRUNCATED);
	assert_int_equal(w->rec.n, 256);
	config.max_frames = ALYS_MAX_FRAMES;
	w = walk_words(PLAIN(1, 0), 0);
	config.max_frames = 256;
	assert_int_equal(w->rec.n, ALYS_MAX_FRAMES);
	assert_int_equal(w->rec.end, ALYS_STOP_TRUNCATED);
}

static void test_hash(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[0] = CODE + 8;
	words[2] = CODE + 16;
	uint64_t first = walk_words(PLAIN(2, 0), 0)->rec.hash;
	assert_int_equal(first, walk_words(PLAIN(2, 0), 0)->rec.hash);
	words[2] = CODE + 17;
	assert_int_not_equal(first, walk_words(PLAIN(2, 0), 0)->rec.hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),       cmocka_unit_test(test_pages_away),
		cmocka_unit_test(test_truncated),      cmocka_unit_test(test_caller),
		cmocka_unit_test(test_return_probe),   cmocka_unit_test(test_zero_is_the_bottom),
		cmocka_unit_test(test_bad_frames),     cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_recursion_ends), cmocka_unit_test(test_hash),
		cmocka_unit_test(test_other_words),    cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_new_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
