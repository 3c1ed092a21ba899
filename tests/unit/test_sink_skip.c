/* SPDX-License-Identifier: Apache-2.0 */
/* Frames skipped at the leaf besides the allocator's own: known wrappers, patterns, numbers. */
#include "format/skip.h"
#include "unit/sink_recordings.h"

static bool known(const char *name)
{
	const struct symbol s = { .name = name };
	return skip_is_known(&(struct sink_frame){ .symbol = &s });
}

static void wrappers_of_many_are_known(void **state)
{
	static const char *const names[] = {
		"zmalloc",
		"zcalloc_num",
		"zrealloc_usable",
		"ztrymalloc_usable_internal",
		"xmalloc",
		"xcalloc",
		"do_xmalloc",
		"x2nrealloc",
		"ngx_alloc",
		"ngx_palloc_large",
		"ngx_pcalloc",
		"g_malloc0",
		"g_try_realloc_n",
		"g_slice_alloc",
		"PyMem_RawMalloc",
		"PyObject_Malloc",
		"_PyObject_Realloc",
		"_PyMem_DebugRawAlloc",
		"ruby_xmalloc2",
		"objspace_xmalloc0",
		"_emalloc",
		"_emalloc_large",
		"_safe_emalloc",
		"_emalloc_56",
		"palloc0",
		"MemoryContextAllocZero",
		"AllocSetAlloc",
		"AllocSetAllocLarge",
		"sqlite3Malloc",
		"sqlite3DbMallocRawNN",
		"CRYPTO_zalloc",
		"CRYPTO_malloc@@OPENSSL_3.0.0",
		"uv__malloc",
		"luaM_malloc_",
		"zmalloc.part.0",
		"xrealloc.constprop.0",
		"os::malloc(unsigned long, MEMFLAGS, NativeCallStack const&)",
		"Foo::operator new(unsigned long)",
		"std::__new_allocator<int>::allocate(unsigned long, void const*)",
		"std::allocator_traits<std::allocator<ns::Foo<int> > >::allocate(std::allocator<ns::Foo<int> >&, unsigned long)",
		"__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
		"std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
		"std::_Vector_base<int, std::allocator<int> >::_Vector_base(unsigned long, std::allocator<int> const&)",
		"std::_Vector_base<int, std::allocator<int> >::_M_create_storage(unsigned long)",
		"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&, "
		"unsigned long)",
		"std::_Rb_tree_node<int>* std::_Rb_tree<int>::_M_create_node<int>(int&&)",
		"std::__1::vector<int, std::__1::allocator<int> >::__vallocate[abi:v15006](unsigned long)",
		"void* std::__1::__libcpp_operator_new[abi:v15006]<unsigned long>(unsigned long)",
		"alloc::alloc::alloc",
		"alloc::alloc::exchange_malloc",
		"alloc[1a2b]::alloc::alloc",
		"<alloc::raw_vec::RawVecInner>::finish_grow",
		"alloc::raw_vec::RawVec<T,A>::grow_one",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"__rust_alloc",
		"__rdl_alloc",
		"<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc",
		"hashbrown::raw::RawTable<T,A>::reserve_rehash",
		"alloc::boxed::box_new_uninit",
		"<alloc::vec::Vec<u8>>::with_capacity_in",
	};
	(void)state;
	for (size_t i = 0; i < LEN(names); i++) {
		if (!known(names[i]))
			fail_msg("%s is not known", names[i]);
	}
}

/* Each of these may be what the user looks for, or may have code of its caller inlined. */
static void what_says_something_stays(void **state)
{
	static const char *const names[] = {
		"main",
		"xmlMalloc_user",
		"my_zmalloc",
		"zmallocate",
		"palloc_pool",
		"createClient",
		"strdup",
		"g_strdup",
		"_sdsnewlen",
		"ngx_create_pool",
		"PyTuple_New",
		"PyMem_Dump",
		"rb_str_new",
		"sqlite3_open",
		"emalloced",
		"CRYPTO_THREAD_run_once",
		"AllocSetContextCreateInternal",
		"std::vector<int, std::allocator<int> >::push_back(int const&)",
		"std::thread::_State_impl<std::thread::_Invoker<T> >::_M_run()",
		"void std::__invoke_impl<void, main::{lambda()#1}>(std::__invoke_other, main::{lambda()#1}&&)",
		"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)",
		"std::make_shared<Foo>()",
		"void std::__introsort_loop<int*, long>(int*, int*, long)",
		"pool::allocate(unsigned long)",
		"my::allocator<int>::allocate(unsigned long)",
		"fill(std::vector<int, std::allocator<int> >&)",
		"alloc::vec::Vec<T,A>::push",
		"alloc::boxed::Box<T>::new",
		"r::alloc::build",
		"Foo.new",
	};
	(void)state;
	for (size_t i = 0; i < LEN(names); i++) {
		if (known(names[i]))
			fail_msg("%s is passed over", names[i]);
	}
}

/* "leaf|...|root" of a stack of these frames, innermost first. */
static void assert_shown(const struct skip *skip, bool keep, const char *want, const char *const *names, uint32_t n)
{
	struct catalog *c = catalog_new();
	struct frame f[8];
	struct sink_stack s = { 0 };
	struct buf b = { 0 };
	assert_non_null(c);
	put_module(c, 1, "/lib/x.so", 0);
	put_mapping(c, 1, 1, 1, 0x10000);
	for (uint32_t i = 0; i < n; i++) {
		f[i] = (struct frame){ { 1 }, 0x1000 + 16 * i + (i ? 1 : 0) };
		put_symbol(c, 1, 0x1000 + 16 * i, names[i], i == 3 ? "/src/pool.c" : NULL, 7);
	}
	put_stack(c, 1, 1, f, n);
	const struct sink_options o = { .keep_allocator_frames = keep, .skip = skip };
	assert_int_equal(sink_stack_of(c, &o, (struct stack_id){ 1 }, &s), 0);
	for (size_t i = 0; i < s.frames_cnt; i++) {
		buf_adds(&b, i ? "|" : "");
		sink_frame_name(&s.frames[i], &b);
	}
	assert_string_equal(buf_str(&b), want);
	buf_free(&b);
	sink_stack_free(&s);
	catalog_free(c);
}

#define SHOWN(skip, keep, want, ...)                                 \
	do {                                                         \
		const char *const names_[] = { __VA_ARGS__ };        \
		assert_shown(skip, keep, want, names_, LEN(names_)); \
	} while (0)

#define STACK "malloc", "operator new(unsigned long)", "zmalloc", "pool_get", "handle", "main"

static void what_is_shown(void **state)
{
	struct skip s = { 0 };
	(void)state;
	SHOWN(NULL, false, "zmalloc|pool_get|handle|main", STACK);
	SHOWN(&s, false, "pool_get|handle|main", STACK);
	SHOWN(&s, true, "malloc|operator new(unsigned long)|zmalloc|pool_get|handle|main", STACK);
	SHOWN(&s, false, "main|xmalloc|start", "malloc", "zmalloc", "operator new(unsigned long)", "xmalloc", "main", "xmalloc",
	      "start");
	/* A stack of skipped frames only keeps its outermost frame. */
	SHOWN(&s, false, "xmalloc", "malloc", "zmalloc", "xmalloc");
	assert_int_equal(skip_add(&s, "--skip", "^pool_", NULL), 0);
	SHOWN(&s, false, "handle|main", STACK);
	assert_int_equal(skip_add(&s, "--skip", "nobody|^handle$", NULL), 0);
	SHOWN(&s, false, "main", STACK);
	skip_none(&s);
	SHOWN(&s, false, "zmalloc|pool_get|handle|main", STACK);
	assert_int_equal(skip_add(&s, "--skip", "2", NULL), 0);
	SHOWN(&s, false, "handle|main", STACK);
	SHOWN(&s, true, "zmalloc|pool_get|handle|main", STACK);
	assert_int_equal(skip_add(&s, "--skip", "4000000000", NULL), 0);
	SHOWN(&s, false, "main", STACK);
	skip_free(&s);
	/* A file or a library matches, too. */
	assert_int_equal(skip_add(&s, "--skip", "/pool\\.c$", NULL), 0);
	SHOWN(&s, false, "handle|main", STACK);
	skip_free(&s);
	assert_int_equal(skip_add(&s, "--skip", "/x\\.so", NULL), 0);
	SHOWN(&s, false, "main", STACK);
	skip_free(&s);
}

static void bad_input_is_refused(void **state)
{
	static const char *const bad[] = { "", "(", "-1", "4294967296", "99999999999999999999999" };
	struct skip s = { 0 };
	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		struct err err = { 0 };
		assert_true(skip_add(&s, "--skip", bad[i], &err) < 0);
		assert_non_null(strstr(err.text, "--skip"));
	}
	assert_int_equal(s.patterns_cnt, 0);
	skip_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrappers_of_many_are_known),
		cmocka_unit_test(what_says_something_stays),
		cmocka_unit_test(what_is_shown),
		cmocka_unit_test(bad_input_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
