/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack walk of aarch64, compiled for the host: recorded stacks must come out as libdw saw them; hand-made ones
 * cover what none of them has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STACKS "tests/bpfhost/stacks_aarch64"
#include "bpfhost/recorded.h"

#define TRAMPOLINE 0x7fffffffe000
#define SIGNED 0x005a000000000000ull /* bits of a signature */

/* The same stack, but called from elsewhere: only x30 differs. */
static void walk_with_other_link(const struct recording *r, const char *name)
{
	walk_recording(r, name);
	host.link = r->link + 4;
	const struct walk_slot *w = host_walk(r->ip, r->sp, r->bp, r->cfa);
	assert_int_equal(w->ips[1], (r->link & ~config.pac_mask) + 4);
	assert_int_equal(w->rec.n, r->n);
}

static void test_other_link(void **state)
{
	(void)state;
	each_recording(walk_with_other_link);
}

/* A pending return probe has replaced the return address in x30, or where it was saved, by its trampoline. */
static void walk_with_return_probe(const struct recording *r, const char *name)
{
	struct return_instance ri = { .orig_ret_vaddr = r->link & ~config.pac_mask, .stack = r->cfa };
	struct return_instance other = { .orig_ret_vaddr = 1, .stack = r->cfa + 16, .next = &ri };
	struct uprobe_task utask = { .return_instances = &other };
	host.task.utask = &utask;
	host.link = TRAMPOLINE;
	assert_int_equal(caller_at(r->cfa, TRAMPOLINE), ri.orig_ret_vaddr);
	walk_recording(r, name);
	assert_int_not_equal(host_slot.s.missed, TRAMPOLINE);
}

static void test_return_probe(void **state)
{
	(void)state;
	each_recording(walk_with_return_probe);
}

/* The probed function's caller is still open: it has kept its return address, signed or not, in its frame. */
static void look_for_return(const struct recording *r, const char *name)
{
	uint64_t caller;
	memcpy(&caller, r->ips + 16, 8);
	walk_recording(r, name);
	uint64_t cfa = frame_of(&host_slot, host_slot.m.first + 2)->sp;
	assert_true(cfa - r->sp > KEPT_WORDS * 8 || is_kept(cfa, caller));
	assert_false(is_kept(cfa, caller + 4));
}

static void test_kept(void **state)
{
	(void)state;
	each_recording(look_for_return);
}

/* A stack of words at 0x7000, code pages at 0x10000 and 0x20000. */
#define SP 0x7000ull
#define CODE 0x10000ull
#define OTHER 0x20000ull
#define PLAIN(words, slot) ((uint32_t)(words) << ALYS_ROW_CFA_SHIFT | (slot))

static uint64_t words[512];

static void prepare(uint32_t row, uint32_t other)
{
	host_reset();
	memset(words, 0, sizeof(words));
	config.pac_mask = 0x007f000000000000ull;
	host.stack_at = SP;
	host.stack_sz = sizeof(words);
	host.stack = (const uint8_t *)words;
	host_add_page(CODE, &row, 1, NULL, 0);
	host_add_page(OTHER, &other, 1, NULL, 0);
	host.link = CODE + 8;
}

static const struct walk_slot *walk_words(uint64_t fp)
{
	return host_walk(CODE + 0x800, SP, fp, SP);
}

static void test_signatures(void **state)
{
	(void)state;
	prepare(PLAIN(4, 3), 0);
	host.link = SIGNED | (CODE + 8);
	words[1] = SIGNED | (CODE + 16);
	const struct walk_slot *w = walk_words(0);
	assert_int_equal(w->rec.n, 3);
	assert_int_equal(w->ips[1], CODE + 8);
	assert_int_equal(w->ips[2], CODE + 16);
	assert_int_equal(w->rec.end, ALYS_STOP_COMPLETE);
}

/* A caller without a saved return address cannot be left: x30 has held others since. */
static void test_lost_link(void **state)
{
	(void)state;
	prepare(PLAIN(0, 0), 0);
	const struct walk_slot *w = walk_words(0);
	assert_int_equal(w->rec.n, 2);
	assert_int_equal(w->rec.end, ALYS_STOP_UNSUPPORTED);
}

/* A leaf function was interrupted by a signal, whose handler is probed: x30 is that of the ucontext. */
static void test_signal_in_leaf(void **state)
{
	(void)state;
	prepare(ALYS_ROW_SPECIAL_OF(ALYS_ROW_SIGNAL, 0), PLAIN(2, 0));
	words[544 / 8] = SP + 0x123450; /* x29 */
	words[552 / 8] = SIGNED | (CODE + 0x100);
	words[560 / 8] = SP + 1024;
	words[568 / 8] = OTHER;
	const struct walk_slot *w = walk_words(0);
	assert_int_equal(w->ips[1], CODE + 8);
	assert_int_equal(w->ips[2], OTHER + 1); /* an interrupted frame is looked up at its instruction */
	assert_int_equal(w->ips[3], CODE + 0x100);
	assert_int_equal(frame_of(&host_slot, host_slot.m.first + 3)->sp, SP + 1024 + 16);
	/* Not remembered: another x30 there leads elsewhere. */
	words[552 / 8] = OTHER + 0x200;
	w = walk_words(0);
	assert_int_equal(w->ips[3], OTHER + 0x200);
}

/* Generated code keeps frame records, anywhere in its frames: then x29 says where the caller's frame is, and sp does not. */
static void test_frame_records(void **state)
{
	(void)state;
	prepare(PLAIN(8, 7), 0);
	host.link = 0x30008; /* in no mapping */
	words[4] = SP + 160;
	words[5] = CODE + 8; /* its record is at its frame's bottom, 8 words below the CFA */
	words[20] = 0;
	words[21] = CODE + 0x18;
	words[28] = 0; /* what a walk by sp would read */
	const struct walk_slot *w = walk_words(SP + 32);
	assert_int_equal(w->ips[1], 0x30008);
	assert_int_equal(w->ips[2], CODE + 8);
	assert_int_equal(w->ips[3], CODE + 0x18);
	assert_int_equal(frame_of(&host_slot, host_slot.m.first + 3)->sp, SP + 160 + 64);
	assert_int_equal(w->s.missed, 0x30008);
}

/* The return address was saved, but not beside x29. */
static void test_saved_alone(void **state)
{
	(void)state;
	const struct alys_spec alone = { .off = 32, .ra_off = -32 };
	uint32_t row = ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, 0), leaf = 0;
	prepare(leaf, leaf);
	host_reset();
	host.stack_at = SP;
	host.stack_sz = sizeof(words);
	host.stack = (const uint8_t *)words;
	host_add_page(CODE, &row, 1, &alone, 1);
	host.link = CODE + 8;
	words[0] = SIGNED | (CODE + 16);
	const struct walk_slot *w = walk_words(0);
	assert_int_equal(w->rec.n, 3);
	assert_int_equal(w->ips[2], CODE + 16);
	assert_int_equal(w->rec.end, ALYS_STOP_COMPLETE);
}

/* Behind the probed function's own frame record its caller's x29 is in that; also in a stack that is known. */
static void test_own_record(void **state)
{
	(void)state;
	prepare(ALYS_ROW_BP | PLAIN(4, 3), 0);
	words[2] = SP + 128;
	words[3] = host.link = SIGNED | (CODE + 8);
	words[16] = SP + 256;
	words[17] = CODE + 16;
	for (int i = 0; i < 2; i++) {
		const struct walk_slot *w = host_walk(CODE + 0x800, SP, SP + 16, SP + 64);
		assert_int_equal(w->rec.n, 3);
		assert_int_equal(w->ips[1], CODE + 8);
		assert_int_equal(w->ips[2], CODE + 16);
		assert_int_equal(w->rec.end, ALYS_STOP_COMPLETE);
		assert_int_equal(w->s.known, i);
	}
	words[2] = SP + 64; /* another caller's */
	words[9] = CODE + 24;
	words[8] = SP + 256;
	assert_int_equal(host_walk(CODE + 0x800, SP, SP + 16, SP + 64)->ips[2], CODE + 24);
	/* A call since has left another address in x30. */
	host.link = CODE + 0x800;
	for (int i = 0; i < 2; i++) {
		const struct walk_slot *w = host_walk(CODE + 0x800, SP, SP + 16, SP + 64);
		assert_true(w->ips[1] == CODE + 8 && w->ips[2] == CODE + 24);
	}
	/* Not set up yet: x29 is the caller's. */
	host.link = CODE + 8;
	assert_int_equal(host_walk(CODE + 0x800, SP, SP + 128, SP + 64)->ips[2], CODE + 16);
}

/* Frames of no size cannot make the walk endless. */
static void test_recursion_ends(void **state)
{
	(void)state;
	prepare(PLAIN(2, 1), 0);
	for (int i = 0; i < 512; i++)
		words[i] = CODE + 8;
	const struct walk_slot *w = walk_words(0);
	assert_int_equal(w->rec.end, ALYS_STOP_TRUNCATED);
	assert_int_equal(w->rec.n, 256);
	prepare(PLAIN(0, 1), 0);
	w = walk_words(0);
	assert_int_equal(w->rec.end, ALYS_STOP_BAD_CFA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),     cmocka_unit_test(test_pages_away),     cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_remembered),   cmocka_unit_test(test_other_link),     cmocka_unit_test(test_other_words),
		cmocka_unit_test(test_return_probe), cmocka_unit_test(test_kept),           cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_lost_link),    cmocka_unit_test(test_signal_in_leaf), cmocka_unit_test(test_frame_records),
		cmocka_unit_test(test_saved_alone),  cmocka_unit_test(test_own_record),     cmocka_unit_test(test_recursion_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
