/* SPDX-License-Identifier: Apache-2.0 */
/* The list of allocators: what stacks, exports and options derive from it agrees with its rows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "allocators/own.h"
#include "alys.h"
#include "alys.h"

static void test_families(void **state)
{
	struct buf all = { 0 };
	(void)state;
	for (int i = 0; i < ALLOC_FAMILIES; i++) {
		buf_addf(&all, "%s%s", i ? "," : "", alloc_family_name((enum alloc_family)i));
		assert_int_equal(alloc_family_by_name(alloc_family_name((enum alloc_family)i)), i);
	}
	assert_string_equal(ALLOC_FAMILY_NAMES, buf_str(&all));
	assert_int_equal(alloc_family_by_name("mal"), -1);
	buf_free(&all);
}

static void test_families_by_names(void **state)
{
	uint32_t one, both;
	struct err err;
	(void)state;
	assert_int_equal(alloc_families_by_names(NULL, &both, &err), 0);
	assert_int_equal(both, 0);
	assert_int_equal(alloc_families_by_names("libgc", &one, &err), 0);
	assert_int_equal(alloc_families_by_names("libc,libgc", &both, &err), 0);
	assert_true(one && (both & one) == one && both != one);
	assert_int_equal(alloc_families_by_names("all", &both, &err), 0);
	assert_int_equal(alloc_families_by_names("usdt", &one, &err), 0);
	assert_true(one && both && !(both & one));
	assert_int_equal(alloc_families_by_names("erts", &one, &err), 0);
	assert_true(one && !(both & one));
	assert_int_equal(alloc_families_by_names("usdt", &one, &err), 0);
	assert_int_equal(alloc_families_by_names("usdt,all", &both, &err), 0);
	assert_int_equal(both & one, one);
	assert_int_equal(alloc_families_by_names("libc,nobody", &both, &err), -EINVAL);
	assert_non_null(strstr(err.text, "\"nobody\": choose from "));
}

static void test_files(void **state)
{
	static const struct {
		const char *path;
		int family;
	} files[] = {
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", ALLOC_LIBC },
		{ "/lib/libc-2.31.so", ALLOC_LIBC },
		{ "/lib/ld-musl-x86_64.so.1", ALLOC_LIBC },
		{ "/usr/lib/libgc.so.1.5.1", ALLOC_LIBGC },
		{ "libgc.so.1", ALLOC_LIBGC },
		{ "/opt/libjemalloc.so.2", ALLOC_JEMALLOC },
		{ "/opt/libtcmalloc_minimal.so.4", ALLOC_TCMALLOC },
		{ "/opt/libmimalloc.so.2.0", ALLOC_MIMALLOC },
		{ "/usr/lib/libstdc++.so.6", ALLOC_CXX },
		{ "/usr/lib/libcrypto.so.3", -1 },
		{ "/usr/lib/libgcc_s.so.1", -1 },
		{ "/usr/lib/libc.so.6/program", -1 },
		{ "", -1 },
		{ NULL, -1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_int_equal(alloc_family_of_file(files[i].path), files[i].family);
}

static void test_functions(void **state)
{
	static const char *const others[] = {
		"main", "mallocate", "__libc_start_main", "xmalloc", "gc_run", "free_list_add", ""
	};
	static const char *const inner[] = {
		"_int_malloc", "GC_mark_some",       "*free(void*)",         "operator new[](unsigned long)",
		"_Znwm",       "__crystal_malloc64", "je_arena_malloc_hard", "__libc_calloc"
	};
	size_t n;
	const struct allocator *rows = allocators(&n);
	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_true(alloc_has_function(rows[i].symbol));
	for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
		assert_true(alloc_has_function(inner[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(alloc_has_function(others[i]));
}

/* Of a stack: also by the source file, and by the library where there is no name. */
static void test_frames(void **state)
{
	static const struct alloc_frame allocators_own[] = {
		{ .name = "_int_malloc" },
		{ .name = "Pointer(UInt8)@Pointer(T)::malloc" },
		{ .name = "*new", .file = "/usr/share/crystal/src/gc/boehm.cr" },
		{ .path = "/usr/lib/libgc.so.1" },
		{ .name = "", .path = "/usr/lib/libgc.so.1" },
	};
	static const struct alloc_frame others[] = {
		{ .name = "main", .path = "/usr/lib/libgc.so.1" },
		{ .name = "Foo.new", .file = "/src/foo.cr" },
		{ .path = "/srv/program" },
		{ .name = "Pointer(UInt8)#copy" },
		{ .name = NULL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(allocators_own) / sizeof(*allocators_own); i++)
		assert_true(alloc_has_frame(&allocators_own[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(alloc_has_frame(&others[i]));
}

static bool matches(const regex_t *r, const char *name)
{
	regmatch_t m;
	return !regexec(r, name, 1, &m, 0) && m.rm_so == 0 && !name[m.rm_eo];
}

/* Finalizers and callbacks run within the collector: their frames are not an allocator's. */
static void test_entries(void **state)
{
	static const char *const ways_in[] = { "malloc",         "reallocarray",
					       "posix_memalign", "operator new(unsigned long)",
					       "GC_malloc",      "GC_malloc_kind_global",
					       "GC_memalign",    "GC_generic_malloc_many",
					       "__libc_calloc",  "__crystal_malloc_atomic64" };
	static const char *const others[] = { "free", "GC_invoke_finalizers", "GC_call_with_stack_base", "GC_free",
					      "__libc_start_main" };
	struct buf text = { 0 };
	regex_t r;
	(void)state;
	alloc_entries_regex(&text);
	assert_int_equal(regcomp(&r, buf_str(&text), REG_EXTENDED), 0);
	for (size_t i = 0; i < sizeof(ways_in) / sizeof(*ways_in); i++)
		assert_true(matches(&r, ways_in[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(matches(&r, others[i]));
	regfree(&r);
	buf_free(&text);
}

/* The user's own functions are rows behind the table's, with arguments from 0, in the order that their shape wants. */
static void test_own(void **state)
{
	static const struct {
		enum own_kind kind;
		const char *spec;
		uint8_t shape, arg[3];
	} good[] = {
		{ OWN_ALLOC, "pool_alloc(size=2)", ALYS_SHAPE_SIZE, { 1 } },
		{ OWN_ALLOC, "libpool.so*:p*(size=3,count=2,align=1)", ALYS_SHAPE_MUL, { 1, 2 } },
		{ OWN_ALLOC, "take(out=1,size=3)", ALYS_SHAPE_OUTPTR, { 0, 2 } },
		{ OWN_REALLOC, "shop::Pool::grow(void*, int)(ptr=2,size=3)", ALYS_SHAPE_REALLOC, { 1, 2 } },
		{ OWN_REALLOC, "grow(ptr=1,count=2,size=6)", ALYS_SHAPE_MULREALLOC, { 0, 1, 5 } },
		{ OWN_FREE, "operator delete[](ptr=1)", ALYS_SHAPE_FREE, { 0 } },
	};
	struct own_functions f = { 0 };
	struct err err;
	size_t n;
	(void)state;
	allocators(&n);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(own_add(&f, good[i].kind, good[i].spec, &err), 0);
	assert_int_equal(own_add(&f, OWN_ALLOC, "f(ptr=1)", &err), -EINVAL);
	own_use(&f);
	assert_int_equal(own_cnt(), sizeof(good) / sizeof(*good));
	for (size_t i = 0; i < own_cnt(); i++) {
		const struct allocator *row = allocator_at(n + i);
		assert_int_equal(row->shape, good[i].shape);
		assert_memory_equal(row->arg, good[i].arg, sizeof(row->arg));
	}
	assert_null(allocator_at(n + own_cnt()));
	assert_true(alloc_has_frame(&(struct alloc_frame){ .name = "pool_alloc", .path = "/srv/program" }));
	assert_true(alloc_has_frame(&(struct alloc_frame){ .name = "pick", .path = "/lib/libpool.so.1" }));
	assert_false(alloc_has_frame(&(struct alloc_frame){ .name = "pick", .path = "/srv/program" }));
	own_use(&(struct own_functions){ 0 });
	assert_int_equal(own_cnt(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families), cmocka_unit_test(test_families_by_names),
		cmocka_unit_test(test_files),    cmocka_unit_test(test_functions),
		cmocka_unit_test(test_frames),   cmocka_unit_test(test_entries),
		cmocka_unit_test(test_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
