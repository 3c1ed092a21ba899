/* SPDX-License-Identifier: Apache-2.0 */
/* catalog: entries are found again and replaced in place, and pointers to them stay valid. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "catalog/catalog.h"

static int setup(void **state)
{
	*state = catalog_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	catalog_free(*state);
	return 0;
}

static void test_proc_and_module(void **state)
{
	struct catalog *c = *state;
	char comm[] = "server";
	struct proc p = { .id = { 7 }, .tgid = 42, .comm = comm };
	assert_int_equal(catalog_put_proc(c, &p), 0);
	const struct proc *kept = catalog_proc(c, (struct proc_id){ 7 });
	comm[0] = 'X';
	assert_string_equal(kept->comm, "server");
	assert_string_equal(kept->exe, "");
	p.tgid = 43;
	assert_int_equal(catalog_put_proc(c, &p), 0);
	assert_int_equal(kept->tgid, 43);
	size_t i = 0;
	assert_ptr_equal(catalog_next_proc(c, &i), kept);
	assert_null(catalog_next_proc(c, &i));
	struct module m = { .id = { 1 }, .path = "/lib/x.so", .build_id = { 1, 2 }, .build_id_sz = 2 };
	assert_int_equal(catalog_put_module(c, &m), 0);
	assert_memory_equal(catalog_module(c, m.id)->build_id, m.build_id, BUILD_ID_MAX);
	m.build_id_sz = BUILD_ID_MAX + 1;
	assert_int_equal(catalog_put_module(c, &m), -EINVAL);
}

static void test_strange_ids(void **state)
{
	struct catalog *c = *state;
	struct proc p = { .id = { UINT32_MAX } };
	assert_int_equal(catalog_put_proc(c, &p), 0);
	assert_non_null(catalog_proc(c, p.id));
	assert_null(catalog_proc(c, (struct proc_id){ 0 }));
	p.id.n = 0;
	assert_int_equal(catalog_put_proc(c, &p), -EINVAL);
	assert_null(catalog_proc(c, (struct proc_id){ 0 }));
	assert_null(catalog_stack(c, (struct stack_id){ 5 }));
}

static void test_pointers_survive_growth(void **state)
{
	struct catalog *c = *state;
	struct frame f[3] = { { { 1 }, 10 }, { { 1 }, 20 }, { { 0 }, 30 } };
	struct stack s = { .id = { 1 }, .n = 3, .frames = f };
	assert_int_equal(catalog_put_stack(c, &s), 0);
	const struct stack *first = catalog_stack(c, s.id);
	for (uint32_t i = 2; i < 20000; i++) {
		s.id.n = i;
		f[0].rel = i;
		assert_int_equal(catalog_put_stack(c, &s), 0);
	}
	assert_ptr_equal(first, catalog_stack(c, (struct stack_id){ 1 }));
	assert_int_equal(first->frames[0].rel, 10);
	assert_int_equal(catalog_stack(c, (struct stack_id){ 19999 })->frames[0].rel, 19999);
}

static void test_stack_replaced(void **state)
{
	struct catalog *c = *state;
	struct frame f[200] = { { { 1 }, 10 }, { { 1 }, 20 } };
	struct stack s = { .id = { 3 }, .n = 2, .frames = f };
	catalog_put_stack(c, &s);
	const struct frame *old = catalog_stack(c, s.id)->frames;
	s.n = 200;
	f[199].rel = 9;
	catalog_put_stack(c, &s);
	assert_int_equal(old[1].rel, 20);
	assert_int_equal(catalog_stack(c, s.id)->n, 200);
	assert_int_equal(catalog_stack(c, s.id)->frames[199].rel, 9);
	s.n = 0;
	s.end = STACK_END_FAULT;
	catalog_put_stack(c, &s);
	assert_int_equal(catalog_stack(c, s.id)->n, 0);
	assert_string_equal(stack_end_name(catalog_stack(c, s.id)->end), "fault");
	assert_string_equal(stack_end_name(STACK_END_CNT), "unknown");
}

static void test_frame_addresses(void **state)
{
	struct catalog *c = *state;
	struct mapping m = { .id = { 4 }, .bias = 0x7f0000000000 };
	catalog_put_mapping(c, &m);
	struct frame f = { .map = { 4 }, .rel = 0x1234 };
	assert_int_equal(frame_ip(c, &f), 0x7f0000001234);
	assert_int_equal(frame_pc(&f, 0), 0x1234);
	assert_int_equal(frame_pc(&f, 1), 0x1233);
	f.map.n = 99;
	assert_int_equal(frame_ip(c, &f), 0x1234);
}

static void test_symbols(void **state)
{
	struct catalog *c = *state;
	struct symbol at[2] = { { .name = "inner", .line = 3, .inlined = true }, { .file = "a.cr" } };
	struct symbols s = { .n = 2, .at = at };
	struct module_id m1 = { 1 }, m2 = { 2 };
	assert_int_equal(catalog_put_symbols(c, m1, 0x10, &s), 0);
	const struct symbols *got = catalog_symbols(c, m1, 0x10);
	assert_int_equal(got->n, 2);
	assert_ptr_equal(got->at[0].name, catalog_text(c, "inner"));
	assert_null(got->at[0].file);
	assert_null(got->at[1].name);
	assert_true(got->at[0].inlined);
	assert_null(catalog_symbols(c, m2, 0x10));
	assert_null(catalog_symbols(c, m1, 0x11));
}

static void put_count(struct catalog *c, const char *name, enum count_class class, uint64_t value)
{
	struct count n = { .name = name, .class = class, .value = value };
	assert_int_equal(catalog_put_count(c, &n), 0);
}

static void test_ledger(void **state)
{
	struct catalog *c = *state;
	struct buf out = { 0 };
	put_count(c, "hits-alloc", COUNT_HIT, 7);
	put_count(c, "hits-free", COUNT_HIT, 3);
	put_count(c, "recorded-alloc", COUNT_RECORDED, 1);
	put_count(c, "recorded-alloc", COUNT_RECORDED, 8);
	put_count(c, "nested", COUNT_SKIPPED, 2);
	put_count(c, "failed", COUNT_SKIPPED, 0);
	put_count(c, "stacks-lost", COUNT_NOTE, 1000);
	assert_int_equal(catalog_sum(c, COUNT_HIT), 10);
	assert_int_equal(catalog_count(c, "recorded-alloc"), 8);
	assert_int_equal(catalog_count(c, "no-such"), 0);
	catalog_ledger_text(c, &out);
	assert_string_equal(buf_str(&out), "hits 10 = recorded 8 + skipped 2 (nested 2) + lost 0");
	buf_reset(&out);
	put_count(c, "failed", COUNT_SKIPPED, 1);
	put_count(c, "ring\n", COUNT_LOST, 4);
	put_count(c, "hits-free", COUNT_HIT, 9);
	catalog_ledger_text(c, &out);
	assert_string_equal(buf_str(&out), "hits 16 = recorded 8 + skipped 3 (nested 2, failed 1) + "
					   "lost 4 (ring\\x0a 4) + in flight or unaccounted for 1");
	buf_free(&out);
}

static void test_meta(void **state)
{
	struct catalog *c = *state;
	const char *key, *value;
	catalog_put_meta(c, "host", "a");
	catalog_put_meta(c, "kernel", "6.1");
	catalog_put_meta(c, "host", "b");
	assert_string_equal(catalog_meta(c, "host"), "b");
	assert_null(catalog_meta(c, "b"));
	assert_null(catalog_meta(c, "none"));
	size_t i = 0;
	assert_true(catalog_next_meta(c, &i, &key, &value));
	assert_string_equal(key, "host");
	assert_true(catalog_next_meta(c, &i, &key, &value));
	assert_string_equal(value, "6.1");
	assert_false(catalog_next_meta(c, &i, &key, &value));
}

static void test_text_is_kept_once(void **state)
{
	struct catalog *c = *state;
	char name[32];
	const char *zero = catalog_text(c, "name 0");
	for (int i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		const char *kept = catalog_text(c, name);
		assert_string_equal(kept, name);
	}
	assert_ptr_equal(catalog_text(c, "name 0"), zero);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_proc_and_module),
		T(test_strange_ids),
		T(test_pointers_survive_growth),
		T(test_stack_replaced),
		T(test_frame_addresses),
		T(test_symbols),
		T(test_ledger),
		T(test_meta),
		T(test_text_is_kept_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
