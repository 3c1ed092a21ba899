/* SPDX-License-Identifier: Apache-2.0 */
/* sink_stack_of: inlined frames, cut stacks, and missing stacks. */
#include "format/type.h"
#include "unit/sink_recordings.h"

/* Stack 1 of one library: names[0] innermost, each its own machine frame. */
static struct catalog *catalog_of(const char *const *names, uint32_t n)
{
	struct catalog *c = catalog_new();
	struct frame f[16];
	assert_non_null(c);
	put_module(c, 1, "/lib/x.so", 0);
	put_mapping(c, 1, 1, 1, 0x10000);
	for (uint32_t i = 0; i < n; i++) {
		f[i] = (struct frame){ { 1 }, 0x1000 + 16 * i + (i ? 1 : 0) };
		if (names[i])
			put_symbol(c, 1, 0x1000 + 16 * i, names[i], NULL, 0);
	}
	put_stack(c, 1, 1, f, n);
	return c;
}

/* "leaf|...|root" of stack id with these options. */
static void assert_stack(const struct catalog *c, const struct sink_options *o, uint32_t id, const char *want)
{
	struct sink_stack s = { 0 };
	struct buf b = { 0 };
	assert_int_equal(sink_stack_of(c, o, (struct stack_id){ id }, &s), 0);
	for (size_t i = 0; i < s.frames_cnt; i++) {
		if (i)
			buf_adds(&b, "|");
		sink_frame_name(&s.frames[i], &b);
	}
	assert_string_equal(buf_str(&b), want);
	buf_free(&b);
	sink_stack_free(&s);
}

static void assert_cut(const char *const *names, uint32_t n, const char *want)
{
	struct catalog *c = catalog_of(names, n);
	assert_stack(c, &(struct sink_options){ 0 }, 1, want);
	catalog_free(c);
}

#define CUT(want, ...)                                        \
	do {                                                  \
		const char *const names_[] = { __VA_ARGS__ }; \
		assert_cut(names_, LEN(names_), want);        \
	} while (0)

static void allocator_leaves_are_cut(void **state)
{
	(void)state;
	CUT("main", "malloc", "main");
	CUT("main", "malloc", "operator new(unsigned long)", "operator new[](unsigned long)", "main");
	CUT("*String#dup|main", "GC_malloc_kind", "GC_malloc", "__crystal_malloc64", "*malloc<UInt64>:Pointer(Void)",
	    "*String#dup", "main");
	CUT("grow|main", "je_realloc", "realloc", "reallocarray", "grow", "main");
	CUT("opendir|main", "__libc_calloc", "calloc", "opendir", "main");
}

static void innermost_frame_is_the_allocator_under_any_name(void **state)
{
	(void)state;
	CUT("main", "my_pool_take", "main");
	CUT("main", NULL, "main");
}

static void names_like_an_allocator_stay_elsewhere(void **state)
{
	(void)state;
	CUT("freeze|malloc|main", "malloc", "freeze", "malloc", "main");
	CUT("mallocate|main", "malloc", "mallocate", "main");
	CUT("Gc_like|main", "malloc", "Gc_like", "main");
	CUT("__libc_start_main|_start", "malloc", "__libc_start_main", "_start");
}

static void last_frame_is_never_cut(void **state)
{
	(void)state;
	CUT("malloc", "malloc");
	CUT("free", "malloc", "free");
}

static void allocator_frames_stay_when_asked(void **state)
{
	const char *const names[] = { "malloc", "operator new(unsigned long)", "main" };
	struct catalog *c = catalog_of(names, LEN(names));
	(void)state;
	assert_stack(c, &(struct sink_options){ .keep_allocator_frames = true }, 1, "malloc|operator new(unsigned long)|main");
	catalog_free(c);
}

/* The recording's decision counts; names are used only without one. */
static void the_recorded_owner_stands(void **state)
{
	static const struct {
		const char *name;
		enum symbol_owner owner;
	} at[] = { { "malloc", SYMBOL_OWNER_ALLOCATOR },
		   { "pool_take", SYMBOL_OWNER_ALLOCATOR },
		   { "calloc", SYMBOL_OWNER_UNKNOWN },
		   { "malloc_of_my_own", SYMBOL_OWNER_PROGRAM },
		   { "main", SYMBOL_OWNER_UNKNOWN } };
	const char *const names[LEN(at)] = { NULL };
	struct catalog *c = catalog_of(names, LEN(names));
	(void)state;
	for (size_t i = 0; i < LEN(at); i++) {
		struct symbol s = { .name = at[i].name, .owner = (uint8_t)at[i].owner };
		catalog_put_symbols(c, (struct module_id){ 1 }, 0x1000 + 16 * i, &(struct symbols){ 1, &s });
	}
	assert_stack(c, &(struct sink_options){ 0 }, 1, "malloc_of_my_own|main");
	struct symbol s = { .name = "free", .owner = SYMBOL_OWNER_PROGRAM };
	catalog_put_symbols(c, (struct module_id){ 1 }, 0x1010, &(struct symbols){ 1, &s });
	assert_stack(c, &(struct sink_options){ 0 }, 1, "free|calloc|malloc_of_my_own|main");
	catalog_free(c);
}

static void assert_type(const struct catalog *c, const char *want)
{
	struct sink_stack s = { 0 };
	struct buf b = { 0 };
	assert_int_equal(sink_stack_of(c, &(struct sink_options){ .keep_allocator_frames = true }, (struct stack_id){ 1 }, &s),
			 0);
	type_of(&s, &b);
	assert_string_equal(buf_str(&b), want);
	buf_free(&b);
	sink_stack_free(&s);
}

static void the_recorded_type_stands(void **state)
{
	const char *const names[] = { "GC_malloc", "Foo.new", "main" };
	struct catalog *c = catalog_of(names, LEN(names));
	struct stack typed = *catalog_stack(c, (struct stack_id){ 1 });
	(void)state;
	assert_type(c, "Foo");
	typed.type = "Bar\n(Baz)";
	assert_int_equal(catalog_put_stack(c, &typed), 0);
	assert_type(c, "Bar\\x0a(Baz)");
	catalog_free(c);
}

static void absent_stacks_have_one_frame(void **state)
{
	struct catalog *c = catalog_new();
	const struct stack untaken = { .id = { 2 }, .end = STACK_END_UNKNOWN };
	(void)state;
	put_stack(c, 1, 1, NULL, 0);
	assert_int_equal(catalog_put_stack(c, &untaken), 0);
	assert_stack(c, &(struct sink_options){ 0 }, 0, "[no stack]");
	assert_stack(c, &(struct sink_options){ 0 }, 1, "[lost]");
	assert_stack(c, &(struct sink_options){ 0 }, 2, "[no stack]");
	assert_stack(c, &(struct sink_options){ 0 }, 3, "[lost]");
	catalog_free(c);
}

static void cut_stacks_say_why(void **state)
{
	const char *const names[] = { "malloc", "inner" };
	static const char *const want[STACK_END_CNT] = {
		[STACK_END_COMPLETE] = "inner",
		[STACK_END_UNKNOWN] = "inner|[unknown]",
		[STACK_END_TRUNCATED] = "inner|[truncated]",
		[STACK_END_FAULT] = "inner|[fault]",
		[STACK_END_NO_TABLE] = "inner|[no-table]",
		[STACK_END_BAD_CFA] = "inner|[bad-cfa]",
		[STACK_END_UNSUPPORTED] = "inner|[unsupported]",
		[STACK_END_LOST] = "inner|[lost]",
		[STACK_END_NO_SLOT] = "inner|[no-slot]",
		[STACK_END_NO_FRAME_POINTER] = "inner|[no-frame-pointer]",
		[STACK_END_OLDER] = "inner|[before-the-recording]",
	};
	struct catalog *c = catalog_of(names, LEN(names));
	(void)state;
	for (uint32_t end = 0; end <= STACK_END_CNT; end++) {
		struct stack s = *catalog_stack(c, (struct stack_id){ 1 });
		s.id.n = 10 + end;
		s.end = (uint8_t)end;
		assert_int_equal(catalog_put_stack(c, &s), 0);
		assert_stack(c, &(struct sink_options){ 0 }, s.id.n, end < STACK_END_CNT ? want[end] : "inner|[unknown]");
		s.id.n += 100;
		s.n = 1;
		assert_int_equal(catalog_put_stack(c, &s), 0);
		/* The allocator is the site if nothing else is known. */
		if (end == STACK_END_FAULT)
			assert_stack(c, &(struct sink_options){ 0 }, s.id.n, "malloc|[fault]");
	}
	catalog_free(c);
}

static void inlined_frames_are_spread_with_their_addresses(void **state)
{
	struct recording r = record_shop();
	struct sink_stack s = { 0 };
	(void)state;
	assert_int_equal(sink_stack_of(r.c, &(struct sink_options){ 0 }, (struct stack_id){ 1 }, &s), 0);
	assert_int_equal(s.frames_cnt, 3);
	assert_true(s.frames[0].inlined);
	assert_false(s.frames[1].inlined);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(s.frames[i].ip, SHOP_BIAS + 0x1301);
		assert_int_equal(s.frames[i].pc, SHOP_BIAS + 0x1300);
		assert_int_equal(s.frames[i].rel, 0x1300);
		assert_int_equal(s.frames[i].map.n, 1);
	}
	sink_stack_free(&s);
	forget(&r);
}

static void nameless_frames_say_where_they_are(void **state)
{
	struct recording r = record_shop();
	(void)state;
	assert_stack(r.c, &(struct sink_options){ 0 }, 3, "libblob.so+0x1600|[unknown]|Parser#read; \"<json>\"|main");
	forget(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocator_leaves_are_cut),
		cmocka_unit_test(innermost_frame_is_the_allocator_under_any_name),
		cmocka_unit_test(names_like_an_allocator_stay_elsewhere),
		cmocka_unit_test(last_frame_is_never_cut),
		cmocka_unit_test(allocator_frames_stay_when_asked),
		cmocka_unit_test(the_recorded_owner_stands),
		cmocka_unit_test(the_recorded_type_stands),
		cmocka_unit_test(absent_stacks_have_one_frame),
		cmocka_unit_test(cut_stacks_say_why),
		cmocka_unit_test(inlined_frames_are_spread_with_their_addresses),
		cmocka_unit_test(nameless_frames_say_where_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
