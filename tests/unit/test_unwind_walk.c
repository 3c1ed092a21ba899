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

#include "catalog/catalog.h"

#define STACKS "tests/bpfhost/stacks"
#include "bpfhost/recorded.h"

/* The numbers of the wire are those of the file. */
_Static_assert(ALYS_STOP_COMPLETE == (int)STACK_END_COMPLETE && ALYS_STOP_UNKNOWN == (int)STACK_END_UNKNOWN &&
		       ALYS_STOP_TRUNCATED == (int)STACK_END_TRUNCATED && ALYS_STOP_FAULT == (int)STACK_END_FAULT &&
		       ALYS_STOP_NO_TABLE == (int)STACK_END_NO_TABLE && ALYS_STOP_BAD_CFA == (int)STACK_END_BAD_CFA &&
		       ALYS_STOP_UNSUPPORTED == (int)STACK_END_UNSUPPORTED,
	       "stop reasons");

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
	uint64_t caller;
	memcpy(&caller, r->ips + 8, 8);
	walk_recording(r, name);
	uint32_t reads = host.reads;
	host.reads = 0;
	walk_begin(host_regs(r->ip, r->sp, r->bp, 0), &host_slot, (struct walk_start){ .cfa = r->cfa }, 1);
	assert_int_equal(caller_of(r->cfa, 0, &host_slot), caller);
	assert_int_equal(host.reads, 1);
	walk_tables(&host_slot);
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

/* A walk from a function's entry, in the slot of one that began in the middle of a function. */
static void test_after_interrupted(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[0] = CODE + 8;
	words[2] = CODE + 16;
	assert_int_equal(walk_words(PLAIN(3, 0), 0)->ips[1], CODE + 8);
	walk_interrupted(host_regs(CODE + 0x800, SP, 0, 0), &host_slot, 1);
	walk_tables(&host_slot);
	assert_int_equal(host_slot.ips[1], CODE + 16);
	assert_int_equal(host_walk(CODE + 0x800, SP, 0, SP + 8)->ips[1], CODE + 8);
}

#define ROW(pc, row) ((uint32_t)(pc) << ALYS_ROW_PC_SHIFT | (row))
enum { KEEPS = 0x000, SAVES = 0x100, GOES_BY = 0x200, BOTTOM = 0x300 };

/* Functions that leave fp alone, save it for data of their own, or go by it; each has two words below its return address. */
static void begin_functions(void)
{
	const uint32_t rows[] = { ROW(KEEPS, PLAIN(3, 0)), ROW(SAVES, PLAIN(3, 1)), ROW(GOES_BY, ALYS_ROW_BP | PLAIN(2, 1)),
				  ROW(BOTTOM, ALYS_ROW_SPECIAL_OF(ALYS_ROW_END, 0)) };
	host_reset();
	host.stack_at = SP;
	host.stack_sz = sizeof(words);
	host.stack = (const uint8_t *)words;
	host_add_page(CODE, rows, 4, NULL, 0);
	memset(words, 0, sizeof(words));
}

/* Frame i's caller. */
static void set_caller(int i, int function, uint64_t fp)
{
	words[3 * i] = CODE + function + 8;
	words[3 * i + 2] = fp; /* where the caller has saved it, if it does */
}

/* The walk by what the last ones left behind, which is the same as one without; and does it need no step? */
static bool walk_by_memory(uint64_t bp)
{
	static struct walk_slot memory;
	memory = *host_walk(CODE + 0x800, SP, bp, SP + 8);
	host_slot.m.kept = 0;
	const struct walk_slot *w = host_walk(CODE + 0x800, SP, bp, SP + 8);
	assert_int_equal(w->rec.n, memory.rec.n);
	assert_int_equal(w->rec.end, memory.rec.end);
	assert_memory_equal(w->ips, memory.ips, w->rec.n * 8ul);
	host_slot = memory;
	return memory.s.known;
}

/* Data in fp, or in the place where it was saved, makes no other stack. */
static void test_fp_that_no_step_goes_by(void **state)
{
	(void)state;
	begin_functions();
	set_caller(0, KEEPS, 1);
	set_caller(1, SAVES, 2);
	set_caller(2, KEEPS, 3);
	set_caller(3, BOTTOM, 4);
	walk_by_memory(5);
	assert_true(walk_by_memory(6));
	words[5] = 7;
	assert_true(walk_by_memory(8));
	/* What follows goes by fp, which was in the way of no frame before. */
	set_caller(3, GOES_BY, SP + 8 * 14);
	set_caller(5, BOTTOM, 0);
	words[5] = SP + 8 * 14;
	walk_by_memory(9);
	assert_int_equal(host_slot.rec.n, 6);
	words[5] += 8;
	assert_false(walk_by_memory(9));
}

static uint32_t next_number(void)
{
	static uint64_t seed = 1;
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

/* One frame after the other of a stack changes, and fp each time. */
static void test_any_change(void **state)
{
	const int functions[] = { KEEPS, SAVES, SAVES, GOES_BY, KEEPS, BOTTOM };
	uint32_t alike = 0;
	(void)state;
	begin_functions();
	for (int i = 0; i < 100000; i++) {
		uint64_t fp = next_number() % 4 ? SP + 8 * (next_number() % 60) : next_number();
		if (next_number() % 3)
			set_caller((int)(next_number() % 12), functions[next_number() % 6], fp);
		alike += walk_by_memory(SP + 8 * (next_number() % 60));
	}
	assert_in_range(alike, 10000, 90000);
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
		cmocka_unit_test(test_new_tables),     cmocka_unit_test(test_after_interrupted),
		cmocka_unit_test(test_any_change),     cmocka_unit_test(test_fp_that_no_step_goes_by),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
