/* SPDX-License-Identifier: Apache-2.0 */
/* Names as compilers write them, and as their languages do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "dwarf/demangle.h"

struct row {
	const char *raw, *want; /* want NULL: stays as it is */
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf out = { 0 };
		buf_adds(&out, ">");
		demangle(&out, rows[i].raw);
		assert_string_equal(buf_str(&out) + 1, rows[i].want ? rows[i].want : rows[i].raw);
		buf_free(&out);
	}
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof(*(rows)))

static void test_crystal_methods(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "*Array(Foo)@Array(T)#push<Foo>:Array(Foo)", "Array(Foo)#push" },
		{ "*Foo::new<Int32>:Foo", "Foo.new" },
		{ "*Foo#bar:Nil", "Foo#bar" },
		{ "*Foo#bar", "Foo#bar" },
		{ "*HTTP::Server::Response#close:Nil", "HTTP::Server::Response#close" },
		{ "*HTTP::Server::new:HTTP::Server", "HTTP::Server.new" },
		{ "*Array(HTTP::Handler)@Array(T)::build<Int32>:Array(HTTP::Handler)", "Array(HTTP::Handler).build" },
		{ "*Slice(T)::new:read_only<Pointer(UInt8), Int64, Bool>:Slice(UInt8)", "Slice(T).new" },
		{ "*Hash(Tuple(UInt64, Symbol), Bool)@Hash(K, V)#upsert<Tuple(UInt64, Symbol), Bool>:"
		  "(Hash::Entry(Tuple(UInt64, Symbol), Bool) | Nil)",
		  "Hash(Tuple(UInt64, Symbol), Bool)#upsert" },
		{ "*(Int32 | Nil)@Object#to_s:String", "(Int32 | Nil)#to_s" },
		{ "*NamedTuple(a: Int32, b: {Int32, String})#keys:Tuple(Symbol, Symbol)",
		  "NamedTuple(a: Int32, b: {Int32, String})#keys" },
		{ "*Exception+@Exception#message:(String | Nil)", "Exception#message" },
		{ "*struct.LibC::Stat#st_mode:UInt32", "struct.LibC::Stat#st_mode" },
		{ "*Array(Shape+)@Array(T)#push<Shape+>:Array(Shape+)", "Array(Shape)#push" },
		{ "*Hash(String, (Shape+ | Nil))@Hash(K, V)#+<Int32>:Nil", "Hash(String, (Shape | Nil))#+" },
		{ "*Range(Char, Char)@Range(B, E)#includes?<Char>:Bool", "Range(Char, Char)#includes?" },
		{ "*Enum#to_i32!:Int32", "Enum#to_i32!" },
		{ "*Array(UInt8)@Array(T)#size=<Int32>:Int32", "Array(UInt8)#size=" },
		{ "*Foo#each''<Int32>:Nil", "Foo#each" },
		{ "*puts<String>:Nil", "puts" },
		{ "*puts:Nil", "puts" },
		{ "*_u128_div_rem<UInt128, UInt128>:Tuple(UInt128, UInt128)", "_u128_div_rem" },
		{ "*main_loop", "main_loop" },
	};
	CHECK(rows);
}

/* Private at the top level of a file: prefixed by the file's path. */
static void test_crystal_private(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "*/src/p.cr::Foo#grow<Int32>:Int32", "Foo#grow" },
		{ "*/src/p.cr::Foo::make<Int32>:/src/p.cr::Foo", "Foo.make" },
		{ "*/src/my dir (2)/a+b.x.cr::Foo@Reference::new:/src/my dir (2)/a+b.x.cr::Foo", "Foo.new" },
		{ "*/src/p.cr::Mod::In::new:/src/p.cr::Mod::In", "Mod::In.new" },
		{ "*/src/p.cr::Color@Enum#to_s:String", "Color#to_s" },
		{ "*/src/p.cr::helper<Int32>:String", "helper" },
		{ "*Bar(Int64)@/src/p.cr::Bar(T)::new<Int64>:Bar(Int64)", "Bar(Int64).new" },
		{ "*Array(/src/p.cr::Foo)@Array(T)#<<</src/p.cr::Foo>:Array(/src/p.cr::Foo)", "Array(Foo)#<<" },
		{ "*Hash(/src/p.cr::Foo, /src/q.cr::Sh+)@Hash(K, V)#[]=</src/p.cr::Foo>:Nil", "Hash(Foo, Sh)#[]=" },
		{ "*(/src/p.cr::Foo | Nil)@Object#to_s:String", "(Foo | Nil)#to_s" },
		{ "*NamedTuple(a: /src/p.cr::Foo)#keys:Nil", "NamedTuple(a: Foo)#keys" },
		{ "~procProc(/src/p.cr::Foo, Nil)@/src/p.cr:12", "proc@/src/p.cr:12" },
		{ "~/src/p.cr::LIMIT:init", "~LIMIT:init" },
		{ "*/src/p::Foo#bar", "Foo#bar" }, /* a program need not be called .cr */
		{ "*/src/p", "/src/p" },
		{ "*Int32#//<Int32>:Int32", "Int32#//" },
	};
	CHECK(rows);
}

static void test_crystal_operators(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "*Array(Foo)@Array(T)#<<<Foo>:Array(Foo)", "Array(Foo)#<<" },
		{ "*Int32@Int#<<Int32>:Bool", "Int32#<" },
		{ "*Int32#<=<Int32>:Bool", "Int32#<=" },
		{ "*Int32@Comparable(T)#<=><Int32>:Int32", "Int32#<=>" },
		{ "*Int32#><Int32>:Bool", "Int32#>" },
		{ "*Int32#>><Int32>:Int32", "Int32#>>" },
		{ "*Int32#>=<Int32>:Bool", "Int32#>=" },
		{ "*Reference#==<Thread>:Bool", "Reference#==" },
		{ "*Object#===<Thread>:Bool", "Object#===" },
		{ "*Object#!=<Thread>:Bool", "Object#!=" },
		{ "*Regex#=~<String>:(Int32 | Nil)", "Regex#=~" },
		{ "*Slice(UInt8)@Slice(T)#[]<Int32, Int32>:Slice(UInt8)", "Slice(UInt8)#[]" },
		{ "*Slice(UInt8)@Slice(T)#[]?<Int32>:(UInt8 | Nil)", "Slice(UInt8)#[]?" },
		{ "*Hash(K, V)#[]=<Thread, Int32>:Int32", "Hash(K, V)#[]=" },
		{ "*Array(Int32)@Array(T)::[]<Int32>:Array(Int32)", "Array(Int32).[]" },
		{ "*Pointer(T)#-<Int32>:Pointer(Int8)", "Pointer(T)#-" },
		{ "*Int32#-:Int32", "Int32#-" },
		{ "*Int32#&+<Int32>:Int32", "Int32#&+" },
		{ "*Int32#&**<Int32>:Int32", "Int32#&**" },
		{ "*Int32#**<Int32>:Int32", "Int32#**" },
		{ "*Int32#//<Int32>:Int32", "Int32#//" },
		{ "*Int32#~:Int32", "Int32#~" },
		{ "*Int32#%<Int32>:Int32", "Int32#%" },
	};
	CHECK(rows);
}

static void test_crystal_others(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "~procProc(HTTP::Server::Context, Nil)@src/app.cr:12", "proc@src/app.cr:12" },
		{ "~procProc(Nil)@/usr/lib/crystal/lib/fiber.cr:1", "proc@/usr/lib/crystal/lib/fiber.cr:1" },
		{ "~Foo::X:init", NULL },
		{ "~match<Exception+.class>", NULL },
		{ "__crystal_main", NULL },
		{ "*", NULL },
		{ "**", "*" },
		{ "~", NULL },
		{ "~procProc(", NULL },
		{ "*Foo", NULL },
		{ "*Foo#", NULL },
		{ "*Foo::", NULL },
		{ "*Foo@", NULL },
		{ "*Foo@#bar", "Foo#bar" },
		{ "*Foo(((#bar", NULL },
		{ "*Foo)))#bar", "Foo)))#bar" },
		{ "*<>", NULL },
		{ "", NULL },
	};
	CHECK(rows);
}

static void test_cpp_and_rust(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "_ZN4shop3BoxIiE3getEv", "shop::Box<int>::get()" },
		{ "_Znwm", "operator new(unsigned long)" },
		{ "_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const" },
		{ "_Z3foov.cold", "foo()" },
		{ "_Z3foov.part.0.cold", "foo()" },
		{ "_Z3foov.lto_priv.0", "foo()" },
		{ "_Z3foov.llvm.1234567", "foo()" },
		{ "_Z3foov.__uniq.123.llvm.45", "foo()" },
		/* Coroutines of gcc, and of clang. */
		{ "_ZN4shop4workEPZNS_4workEiE21_ZN4shop4workEi.Frame.actor",
		  "shop::work(shop::work(int)::_ZN4shop4workEi.Frame*) [clone .actor]" },
		{ "_ZN4shop4workEPZNS_4workEiE21_ZN4shop4workEi.Frame.destroy",
		  "shop::work(shop::work(int)::_ZN4shop4workEi.Frame*) [clone .destroy]" },
		{ "_ZN4shop4workEPZNS_4workEiE21_ZN4shop4workEi.Frame.actor.cold",
		  "shop::work(shop::work(int)::_ZN4shop4workEi.Frame*) [clone .actor]" },
		{ "_ZN4shop4workEi.resume", "shop::work(int) [clone .resume]" },
		{ "_ZN4shop4workEi.cleanup", "shop::work(int) [clone .cleanup]" },
		{ "_Z3foov.constprop.0.isra.0", "foo()" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_ZN71_$LT$core..ops..range..Range$LT$Idx$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt"
		  "17h0123456789abcdefE",
		  "<core::ops::range::Range<Idx> as core::fmt::Debug>::fmt" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_Z", NULL },
		{ "_R", NULL },
		{ "_Zwrong!", NULL },
		{ "_start", NULL },
		{ "malloc", NULL },
	};
	CHECK(rows);
}

static void check_cut(const char *raw)
{
	struct buf out = { 0 };
	demangle(&out, raw);
	assert_in_range(out.len, DEMANGLE_MAX - 8, DEMANGLE_MAX);
	assert_string_equal(buf_str(&out) + out.len - 3, "...");
	buf_free(&out);
}

/* Each type contains the one before twice: a few hundred bytes make a name larger than memory. */
static void test_bombs(void **state)
{
	(void)state;
	struct buf cpp = { 0 }, plain = { 0 }, crystal = { 0 }, wide = { 0 };
	buf_adds(&cpp, "_Z1f1aIiiE");
	for (int i = 0; i < 34; i++) {
		int last = i < 10 ? '0' + i : 'A' + i - 10;
		buf_addf(&cpp, "S_IS%c_S%c_E", last, last);
	}
	check_cut(buf_str(&cpp));
	buf_adds(&crystal, "*");
	for (unsigned int i = 0; i < 5000; i++) {
		buf_adds(&plain, "a");
		buf_adds(&crystal, "A");
		buf_adds(&wide, "\xe2\x82\xac");
	}
	buf_adds(&crystal, "#b");
	check_cut(buf_str(&plain));
	check_cut(buf_str(&crystal));
	check_cut(buf_str(&wide));
	buf_free(&cpp);
	buf_free(&plain);
	buf_free(&crystal);
	buf_free(&wide);
}

static void test_any_bytes(void **state)
{
	(void)state;
	static const char alphabet[] = "*~#@:<>(){}'=[]?!+-AFza_ZRNSTIEv0129.\x80\xff";
	srand(7);
	for (unsigned int round = 0; round < 30000; round++) {
		char name[40];
		static const char *const starts[] = { "*", "~procProc(", "_ZN", "_RNv" };
		size_t n = (size_t)rand() % 24;
		strcpy(name, starts[round % 4]);
		size_t at = strlen(name);
		for (size_t i = 0; i < n; i++)
			name[at++] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		name[at] = '\0';
		struct buf out = { 0 };
		demangle(&out, name);
		assert_true(out.len <= DEMANGLE_MAX);
		assert_true(out.len > 0);
		buf_free(&out);
	}
}

static void test_crystal_short(void **state)
{
	static const char *const rows[][2] = {
		{ "new", "new" },
		{ "new:fd:family", "new" },
		{ "puts<String>", "puts" },
		{ "[]=<Int32>", "[]=" },
		{ "<<<Foo>", "<<" },
		{ "==:x", "==" },
		{ "", "" },
		{ ":", ":" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = { 0 };
		demangle_crystal_short(&out, rows[i][0]);
		assert_string_equal(buf_str(&out), rows[i][1]);
		buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crystal_methods),
		cmocka_unit_test(test_crystal_private),
		cmocka_unit_test(test_crystal_operators),
		cmocka_unit_test(test_crystal_short),
		cmocka_unit_test(test_crystal_others),
		cmocka_unit_test(test_cpp_and_rust),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
