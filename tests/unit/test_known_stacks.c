/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are known: which of them are found without a walk, and which must not be. What is found, host_walk compares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpfhost/host.h"

#define SP 0x7000ull
#define CODE 0x1000ull
#define DEPTH 12 /* callers; each has two words below its return address */
#define GOES_BY 0x800u

static uint64_t words[512];

static void set_caller(int i, uint64_t site)
{
	words[3 * i] = CODE + site;
}

static int begin(void **state)
{
	const uint32_t row = 3 << ALYS_ROW_CFA_SHIFT;
	const uint32_t rows[] = { row, GOES_BY << ALYS_ROW_PC_SHIFT | ALYS_ROW_BP | 2 << ALYS_ROW_CFA_SHIFT | 1 };
	(void)state;
	host_reset();
	memset(host_known, 0, sizeof(host_known));
	config.known_stacks = HOST_KNOWN;
	host.stack_at = SP;
	host.stack_sz = sizeof(words);
	host.stack = (const uint8_t *)words;
	host_add_page(CODE, rows, 2, NULL, 0);
	memset(words, 0, sizeof(words));
	for (int i = 0; i < DEPTH; i++)
		set_caller(i, 8);
	return 0;
}

static bool walk_with(uint64_t bp)
{
	assert_int_equal(host_walk(CODE + 0x700, SP, bp, SP + 8)->rec.n, DEPTH + 1);
	return host_slot.s.known;
}

static bool walk(void)
{
	return walk_with(0);
}

/* The same callers at a probe that lies one frame further up. */
static bool walk_from(uint64_t bytes)
{
	host_walk(CODE + 0x700, SP + 3 * bytes, 0, SP + 3 * bytes + 8);
	return host_slot.s.known;
}

/* One of 36 stacks: callers differ near the probe, in the middle and at the bottom. */
static bool walk_one_of_many(int n)
{
	set_caller(0, 8 + 8 * (n % 3));
	set_caller(5, 8 + 8 * (n / 3 % 4));
	set_caller(DEPTH - 1, 8 + 8 * (n / 12));
	return walk();
}

static void test_stacks_in_turn(void **state)
{
	int known = 0;
	(void)state;
	for (int round = 0; round < 12; round++) {
		known = 0;
		for (int n = 0; n < 36; n++)
			known += walk_one_of_many(n);
	}
	/* The table has 64 entries: some stacks displace each other. */
	assert_in_range(known, 18, 36);
}

/* More branches than are followed: the last stack takes the place of another. */
static void test_many_branches(void **state)
{
	uint64_t seed = 1;
	(void)state;
	for (int n = 0; n < 500; n++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		for (int i = 0; i < DEPTH; i++)
			set_caller(i, 8 + 8 * (seed >> (40 + i) & 1));
		int walks = 0;
		while (!walk())
			walks++;
		assert_in_range(walks, 0, BRANCH_DEPTH);
	}
}

/* With room for one stack, another one takes its place. */
static void test_displaced(void **state)
{
	(void)state;
	config.known_stacks = 1;
	walk();
	assert_true(walk());
	assert_false(walk_from(8));
	assert_true(walk_from(8));
	assert_false(walk());
	assert_true(walk());
}

/* Where nothing comes again, only one walk in TRY_EVERY is looked for. */
static void test_in_vain(void **state)
{
	int looked_for = 0;
	(void)state;
	host_slot.m.worth = WORTH_MOST;
	for (host_slot.m.unknown = 0; host_slot.m.unknown < WORTH_MOST + 10 * TRY_EVERY; host_slot.m.unknown++)
		looked_for += known_pays(&host_slot);
	assert_in_range(looked_for, WORTH_MOST + 9, WORTH_MOST + 10);
}

/* A loop that passes a few probes: each of its stacks is known in the end, whatever their number. */
static void test_loops(void **state)
{
	(void)state;
	host.thrifty = true;
	for (int stacks = 1; stacks <= 8; stacks++) {
		int known = 0;
		for (int n = 0; n < 500 * stacks; n++) {
			set_caller(DEPTH - 1, 8 + 8 * (stacks * 8 + n % stacks));
			bool is = walk();
			known += is && n >= 499 * stacks;
		}
		assert_int_equal(known, stacks);
	}
}

/* The value of a word that decides no step makes no other stack, wherever stacks were told apart. */
static void test_data(void **state)
{
	(void)state;
	walk_one_of_many(0);
	walk_one_of_many(1);
	walk_one_of_many(0);
	assert_true(walk_one_of_many(0));
	words[1] = words[4] = 77;
	assert_true(walk_one_of_many(0));
	assert_true(walk_with(77));
}

/* A frame goes by fp, which an inner one has saved: another value is another stack. */
static void test_saved_fp(void **state)
{
	(void)state;
	set_caller(2, GOES_BY + 8);
	words[9] = CODE + 8;
	assert_false(walk_with(SP + 8 * 8));
	assert_true(walk_with(SP + 8 * 8));
	words[12] = CODE + 8;
	host_walk(CODE + 0x700, SP, SP + 8 * 11, SP + 8);
	assert_false(host_slot.s.known);
}

static void test_other_tables(void **state)
{
	(void)state;
	walk();
	assert_true(walk());
	map_list_changes++; /* of another process */
	assert_true(walk());
	map_list_changes++;
	host.list.salt++;
	assert_false(walk());
	assert_true(walk());
}

static void test_other_program(void **state)
{
	(void)state;
	walk();
	assert_true(walk());
	walk_begin(host_regs(CODE + 0x700, SP, 0, host.link), &host_slot, SP + 8, 2);
	assert_false(known_find(0));
}

static void test_being_written(void **state)
{
	(void)state;
	walk();
	assert_true(walk());
	struct known_stack *k = known_at(host_slot.s.key);
	k->version |= 1;
	assert_false(walk());
	assert_int_equal(k->version & 1, 1); /* left to who writes */
}

/* Deeper than its frames are remembered, or without an end: such a stack is walked each time. */
static void test_not_learned(void **state)
{
	(void)state;
	for (int i = 0; i < WALK_REMEMBERED + 2; i++)
		set_caller(i, 8);
	for (int round = 0; round < 3; round++) {
		host_walk(CODE + 0x700, SP, 0, SP + 8);
		assert_false(host_slot.s.known);
	}
	host.stack_sz = 8 * 30 + 8;
	host.away_from = SP + host.stack_sz;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(host_walk(CODE + 0x700, SP, 0, SP + 8)->rec.end, ALYS_STOP_FAULT);
		assert_false(host_slot.s.known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_stacks_in_turn, begin), cmocka_unit_test_setup(test_displaced, begin),
		cmocka_unit_test_setup(test_in_vain, begin),        cmocka_unit_test_setup(test_many_branches, begin),
		cmocka_unit_test_setup(test_data, begin),           cmocka_unit_test_setup(test_saved_fp, begin),
		cmocka_unit_test_setup(test_other_tables, begin),   cmocka_unit_test_setup(test_other_program, begin),
		cmocka_unit_test_setup(test_being_written, begin),  cmocka_unit_test_setup(test_not_learned, begin),
		cmocka_unit_test_setup(test_loops, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
