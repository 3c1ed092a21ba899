/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites: calls that one probe sees whole, in the middle of their function. What is claimed there of the stack and of the caller's frame
 * pointer is what the compiler wrote into .eh_frame; that size and result are right, calibrations show (test_calibrate_work.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "sites/listing.h"
#include "sites_libraries.h"
#include "unwind/unwind.h"

static const char *const libraries[] = { GLIBC, MUSL, LIBGC, JEMALLOC, TCMALLOC, MIMALLOC };
#define LIBRARIES (sizeof(libraries) / sizeof(*libraries))

/* True if the table tells. */
static bool expect_as_unwound(const struct unwind_table *t, uint64_t vaddr, uint32_t cfa_off, uint16_t fp_off)
{
	struct unwind_row row;
	if (!unwind_row_at(t, vaddr, &row) || row.kind != ALYS_ROW_SPEC || row.rule.base_bp || row.rule.deref)
		return false;
	assert_int_equal(row.rule.off, cfa_off);
	/* Behind the pops of an epilogue, the compiler leaves it at the old place, where it still is. */
	assert_true(fp_off || row.rule.bp == ALYS_SPEC_BP_SAME || cfa_off == 8);
	if (fp_off)
		assert_true(row.rule.bp == ALYS_SPEC_BP_AT_CFA && -row.rule.bp_off == fp_off);
	return true;
}

static size_t expect_place(const struct unwind_table *t, const struct site *s, const struct site_place *at)
{
	if (!at->vaddr)
		return 0;
	assert_int_equal(at->vaddr, s->func + at->into);
	return expect_as_unwound(t, at->vaddr, at->cfa_off, at->fp_off);
}

/* Number of places that the table tells of. */
static size_t expect_places(const struct opened *o, const struct unwind_table *t)
{
	size_t told = 0;
	for (size_t i = 0; i < o->list.sites_cnt; i++) {
		const struct site *s = &o->list.sites[i];
		told += expect_place(t, s, &s->late.at);
		if (s->state == SITE_PROBED && s->fp_off)
			told += expect_as_unwound(t, s->vaddr, s->cfa_off, s->fp_off);
		assert_true(!s->fp_off || s->into);
	}
	for (size_t i = 0; i < o->list.exits_cnt; i++) {
		const struct site_exit *x = &o->list.exits[i];
		if (x->whole_call_of)
			told += expect_place(t, &o->list.sites[x->whole_call_of - 1], &x->whole);
	}
	return told;
}

static void test_places_agree_with_tables(void **state)
{
	(void)state;
	size_t told = 0;
	for (size_t i = 0; i < 2 * LIBRARIES; i++) {
		struct sites_options opts = { .cheap_exits = true, .refill = i >= LIBRARIES };
		struct err err = { 0 };
		struct opened o;
		open_sites(&o, libraries[i % LIBRARIES], &opts);
		struct unwind_table *t = unwind_compile(o.elf, &err);
		if (t)
			told += expect_places(&o, t);
		unwind_free(t);
		close_sites(&o);
	}
	assert_true(told >= 10);
}

/* Places that see whole calls of this site; *takes: those where a list's head is told from a count. */
static size_t whole_places(const struct site_list *l, const struct site *s, size_t *takes)
{
	size_t n = 0;
	for (size_t i = 0; i < l->exits_cnt; i++) {
		const struct site_exit *x = &l->exits[i];
		if (x->whole_call_of != (uint32_t)(s - l->sites) + 1)
			continue;
		assert_true(x->emulated && x->vaddr > s->func && x->vaddr < s->func + s->size);
		*takes += x->takes;
		n++;
	}
	return n;
}

/* glibc: what the thread's cache serves is seen by one probe, without one at the return. Ends of other calls are cheap, too. */
static void test_whole_malloc(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	size_t takes = 0, stepped = 0;
	(void)state;
	open_sites(&o, GLIBC, &opts);
	const struct site *s = site_named(&o.list, "malloc");
	assert_true(sites_have_whole(&o.list, true) && !s->whole && s->return_probe);
	sites_use_whole(&o.list, true);
	assert_true(s->whole && !s->return_probe && !s->cached && s->vaddr == s->late.at.vaddr);
	assert_true(whole_places(&o.list, s, &takes) >= 1 && !takes);
	for (size_t i = 0; i < s->exits_cnt; i++)
		stepped += !o.list.exits[s->exits[i]].emulated;
	assert_true(s->exits_cnt >= 1 && stepped <= 1); /* the `ret` of calls that fail */
	assert_true(site_named(&o.list, "calloc")->return_probe && site_named(&o.list, "realloc")->return_probe);
	close_sites(&o);
}

/* libgc: where a block is taken from a thread's list. The others jump to GC_malloc_kind_global, and end there. */
static void test_taken(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct opened o;
	size_t takes = 0;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	const struct site *s = site_named(&o.list, "GC_malloc_kind");
	assert_true(s->predicted && sites_have_whole(&o.list, true) && !sites_have_whole(&o.list, false));
	sites_use_whole(&o.list, false);
	assert_true(s->predicted && !s->whole);
	sites_use_whole(&o.list, true);
	assert_true(!s->predicted && s->vaddr == s->late.at.vaddr && s->cfa_off == 8);
	assert_int_equal(whole_places(&o.list, s, &takes), 1);
	assert_int_equal(takes, 1);
	const uint32_t *exits;
	size_t n = sites_exits(s, true, &exits);
	assert_true(n >= 1);
	for (size_t i = 0; i < n; i++)
		assert_true(o.list.exits[exits[i]].vaddr - s->func >= s->size);
	close_sites(&o);
}

/* Without cheap exits there are none: a trial compares with what is certain. */
static void test_only_with_cheap_exits(void **state)
{
	struct sites_options opts = { 0 };
	(void)state;
	for (size_t i = 0; i < LIBRARIES; i++) {
		struct opened o;
		open_sites(&o, libraries[i], &opts);
		assert_false(sites_have_whole(&o.list, true));
		close_sites(&o);
	}
}

/* The kernel walks by the frame pointer itself, and a return probe needs the return address on top of the stack. */
static void test_stays_at_entry(void **state)
{
	struct sites_options opts = { .cheap_exits = true }, staying = { .cheap_exits = true, .at_entry = true };
	size_t moved = 0;
	(void)state;
	for (size_t i = 0; i < LIBRARIES; i++) {
		struct opened a, b;
		open_sites(&a, libraries[i], &opts);
		open_sites(&b, libraries[i], &staying);
		assert_int_equal(a.list.sites_cnt, b.list.sites_cnt);
		for (size_t k = 0; k < b.list.sites_cnt; k++) {
			const struct site *s = &b.list.sites[k];
			assert_false(s->fp_off);
			assert_true(s->state != SITE_PROBED || !alloc_returns_block(s->row) || s->unchanged);
			moved += a.list.sites[k].fp_off && a.list.sites[k].vaddr > b.list.sites[k].vaddr;
		}
		close_sites(&b);
		close_sites(&a);
	}
	assert_true(moved > 0);
}

/* As a site of BPF, and through the pipe from the examiner. */
static void test_wire(void **state)
{
	struct sites_options opts = { .cheap_exits = true };
	struct alys_site wire;
	struct site_list got;
	struct buf b = { 0 };
	struct opened o;
	(void)state;
	open_sites(&o, LIBGC, &opts);
	sites_write(&o.list, &b);
	struct cursor c = cursor_over(b.data, b.len);
	assert_int_equal(sites_read(&c, &got), 0);
	sites_use_whole(&got, true);
	for (size_t i = 0; i < got.exits_cnt; i++) {
		const struct site_exit *x = &got.exits[i];
		if (!x->whole_call_of)
			continue;
		sites_fill_whole(&got, x, 3, &wire);
		assert_true(wire.vaddr == x->vaddr && wire.object == 3 && wire.cfa_off == x->cfa_off && wire.reg == x->reg);
		assert_true(wire.into == x->whole.into && wire.fp_off == x->whole.fp_off && wire.arg[0] == x->whole.size_arg);
		assert_true(wire.flags & ALYS_SITE_WHOLE_CALL && !(wire.flags & ALYS_SITE_TAKES) == !x->takes);
	}
	sites_free(&got);
	buf_free(&b);
	close_sites(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_agree_with_tables),
		cmocka_unit_test(test_whole_malloc),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_only_with_cheap_exits),
		cmocka_unit_test(test_stays_at_entry),
		cmocka_unit_test(test_wire),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
