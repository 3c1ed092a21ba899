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
#define WIDE 0xa00u /* code whose frames are twice as large */

static uint64_t words[512];

static void set_caller(int i, uint64_t site)
{
	words[3 * i] = CODE + site;
}

static int begin(void **state)
{
	const uint32_t row = 3 << ALYS_ROW_CFA_SHIFT;
	const uint32_t rows[] = { row, GOES_BY << ALYS_ROW_PC_SHIFT | ALYS_ROW_BP | 2 << ALYS_ROW_CFA_SHIFT | 1,
				  WIDE << ALYS_ROW_PC_SHIFT | 6 << ALYS_ROW_CFA_SHIFT };
	(void)state;
	host_reset();
	memset(host_known, 0, sizeof(host_known));
	config.known_stacks = HOST_KNOWN;
	host.stack_at = SP;
	host.stack_sz = sizeof(words);
	host.stack = (const uint8_t *)words;
	host_add_page(CODE, rows, 3, NULL, 0);
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
	assert_int_equal(known, 36);
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

static void flip_caller(int i)
{
	words[3 * i] ^= 8 ^ 16;
}

/* Does walking this stack with another caller displace it? */
static bool is_displaced_by(int caller)
{
	while (!walk())
		;
	flip_caller(caller);
	walk();
	flip_caller(caller);
	return !walk();
}

/* Two stacks that no branch tells apart, in turn: they use two entries, and displace no others. */
static void test_branches_end(void **state)
{
	struct known_stack before[HOST_KNOWN];
	int caller = 0, written = 0;
	test_many_branches(state);
	while (caller < DEPTH - 1 && !is_displaced_by(caller))
		caller++;
	assert_true(is_displaced_by(caller));
	memcpy(before, host_known, sizeof(before));
	for (int n = 0; n < 100; n++) {
		flip_caller(caller);
		walk();
	}
	for (int i = 0; i < HOST_KNOWN; i++)
		written += host_known[i].version != before[i].version;
	assert_in_range(written, 1, 2);
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
	for (int i = 0; i < WORTH_MOST + 10 * TRY_EVERY; i++) {
		looked_for += known_pays(&host_slot);
		known_missed(&host_slot);
	}
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

/* Another frame is larger, so there is data where stacks had a return address by which they are told apart. */
static bool walk_wide(uint64_t data)
{
	set_caller(1, WIDE + 8);
	words[6] = data;
	host_walk(CODE + 0x700, SP, 0, SP + 8);
	return host_slot.s.known;
}

static void test_data_elsewhere(void **state)
{
	(void)state;
	walk();
	set_caller(2, 16);
	walk();
	assert_true(walk());
	walk_wide(1);
	for (uint64_t data = 2; data < 40; data++)
		assert_true(walk_wide(data));
	/* By chance the data is another's return address. */
	assert_false(walk_wide(CODE + 16));
	assert_false(walk_wide(CODE + 16));
	assert_true(walk_wide(CODE + 16));
	assert_true(walk_wide(1));
	set_caller(1, 8);
	set_caller(2, 16);
	assert_true(walk());
}

/* More stacks than there is room for: the latest are known. */
static void test_more_than_there_is_room(void **state)
{
	int known = 0;
	(void)state;
	for (int n = 0; n < 20 * HOST_KNOWN; n++) {
		set_caller(0, 8 + 8 * (n % 16));
		set_caller(DEPTH - 1, 8 + 8 * (n / 16));
		walk();
	}
	for (int n = 19 * HOST_KNOWN + HOST_KNOWN / 2; n < 20 * HOST_KNOWN; n++) {
		set_caller(0, 8 + 8 * (n % 16));
		set_caller(DEPTH - 1, 8 + 8 * (n / 16));
		known += walk();
	}
	assert_int_equal(known, HOST_KNOWN / 2);
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
	walk_begin(host_regs(CODE + 0x700, SP, 0, host.link), &host_slot, (struct walk_start){ .cfa = SP + 8 }, 2);
	assert_false(known_find(&host_slot));
}

static void test_being_written(void **state)
{
	(void)state;
	walk();
	assert_true(walk());
	struct known_stack *k = known_at(host_slot.s.entry);
	k->version |= 1;
	known_next = host_slot.s.entry;
	assert_false(walk());
	assert_int_equal(k->version & 1, 1); /* left to who writes */
	assert_false(walk());
	assert_true(walk());
}

/* Of a stack that was found, it is noted that it has been sent. */
static void test_sent(void **state)
{
	(void)state;
	walk();
	assert_true(walk());
	assert_int_not_equal(host_slot.s.sent, 77);
	host_slot.s.sent = 77;
	known_learn(0);
	host_slot.s.sent = 0;
	assert_true(walk());
	assert_int_equal(host_slot.s.sent, 77);
}

/* Two call sites of different frames that go by fp: what is told apart are their return addresses. */
static void test_fp_of_two_callers(void **state)
{
	int known = 0;
	(void)state;
	set_caller(2, GOES_BY + 8);
	words[9] = words[12] = CODE + 8;
	for (int n = 0; n < 20; n++) {
		set_caller(0, n & 1 ? 8 : 16);
		host_walk(CODE + 0x700, SP, SP + 8 * (n & 1 ? 8 : 11), SP + 8);
		known += host_slot.s.known;
	}
	assert_in_range(known, 16, 18);
}

/* The first branch is displaced, and then a short stack comes: the others are found all the same. */
static void test_first_branch_displaced(void **state)
{
	(void)state;
	walk();
	set_caller(DEPTH - 1, 16);
	walk();
	assert_true(walk());
	*branch_place(host_slot.s.root, branch_choose(host_slot.s.root)) = 0;
	uint64_t caller = words[9];
	words[9] = 0;
	host_walk(CODE + 0x700, SP, 0, SP + 8);
	words[9] = caller;
	walk();
	walk();
	assert_true(walk());
	set_caller(DEPTH - 1, 8);
	walk();
	assert_true(walk());
}

/* In a full bucket, a branch displaces one that leads to no stack any more. */
static void test_bucket(void **state)
{
	const uint64_t key = 0x123;
	(void)state;
	for (uint64_t i = 1; i < BRANCH_PLACES; i++)
		branch_set(key | i << 32, 0, 7);
	host_known[5].key = 8ull << 32;
	branch_set(key | 9ull << 32, 0, BRANCH_ENDS | 5);
	branch_set(key | 8ull << 32, 0, 7);
	for (uint64_t i = 1; i < BRANCH_PLACES; i++)
		assert_int_equal(branch_at(key | i << 32) & BRANCH_WORD, 7);
	assert_int_equal(branch_at(key | 8ull << 32) & BRANCH_WORD, 7);
	assert_int_equal(branch_at(key | 9ull << 32), 0);
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
		cmocka_unit_test_setup(test_stacks_in_turn, begin),
		cmocka_unit_test_setup(test_displaced, begin),
		cmocka_unit_test_setup(test_in_vain, begin),
		cmocka_unit_test_setup(test_many_branches, begin),
		cmocka_unit_test_setup(test_data, begin),
		cmocka_unit_test_setup(test_saved_fp, begin),
		cmocka_unit_test_setup(test_other_tables, begin),
		cmocka_unit_test_setup(test_other_program, begin),
		cmocka_unit_test_setup(test_being_written, begin),
		cmocka_unit_test_setup(test_not_learned, begin),
		cmocka_unit_test_setup(test_sent, begin),
		cmocka_unit_test_setup(test_fp_of_two_callers, begin),
		cmocka_unit_test_setup(test_bucket, begin),
		cmocka_unit_test_setup(test_first_branch_displaced, begin),
		cmocka_unit_test_setup(test_loops, begin),
		cmocka_unit_test_setup(test_data_elsewhere, begin),
		cmocka_unit_test_setup(test_more_than_there_is_room, begin),
		cmocka_unit_test_setup(test_branches_end, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
