/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/perfmap: names of generated code, newer lines over older ones, damage passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf/perfmap.h"

#define MOST 16

static struct symbol found[MOST];

static void find(const char *text, size_t len, const uint64_t *pcs, size_t n)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(perfmap_find(fd, pcs, n, found), 0);
	close(fd);
}

static void forget(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((void *)(uintptr_t)found[i].name);
		free((void *)(uintptr_t)found[i].file);
	}
}

static void test_names(void **state)
{
	(void)state;
	static const char text[] = "1000 100 Interpreter entry\n"
				   "1100 10 JS:*fib /srv/my app.js:3:14\n"
				   "1110 10 LazyCompile:~run file:///srv/x.mjs:12:5\n"
				   "1120 10 Function:^later node:internal/timers:560:17\n"
				   "1130 10 JS:~ /srv/anonymous.js:1:1\n"
				   "1140 10 JS:~odd name without place\n"
				   "1148 8 $lists:map/2\n"
				   "1160 8 $'Elixir.Enum':map/2\n"
				   "1168 8 $erts_beamasm:normal_exit/0-CodeInfoPrologue\n"
				   "1170 8 $global::i_flush\n"
				   "1178 8 $m:f/x\n"
				   "1150 10 java.lang.String::hashCode";
	static const struct {
		const char *name, *file;
		uint32_t line, column;
		uint8_t quality;
	} want[] = {
		{ NULL, NULL, 0, 0, SYMBOL_MODULE },
		{ "Interpreter entry", NULL, 0, 0, SYMBOL_TABLE },
		{ "Interpreter entry", NULL, 0, 0, SYMBOL_TABLE },
		{ "fib", "/srv/my app.js", 3, 14, SYMBOL_EXACT },
		{ "run", "file:///srv/x.mjs", 12, 5, SYMBOL_EXACT },
		{ "later", "node:internal/timers", 560, 17, SYMBOL_EXACT },
		{ "(anonymous)", "/srv/anonymous.js", 1, 1, SYMBOL_EXACT },
		{ "odd name without place", NULL, 0, 0, SYMBOL_TABLE },
		{ "lists:map/2", NULL, 0, 0, SYMBOL_TABLE }, /* Erlang; the later line counts */
		{ NULL, NULL, 0, 0, SYMBOL_MODULE },         /* a line that is being written: no end yet */
		{ "Enum.map/2", NULL, 0, 0, SYMBOL_TABLE },
		{ "erts_beamasm:normal_exit/0", NULL, 0, 0, SYMBOL_TABLE },
		{ "$global::i_flush", NULL, 0, 0, SYMBOL_TABLE },
		{ "$m:f/x", NULL, 0, 0, SYMBOL_TABLE },
	};
	static const uint64_t pcs[] = { 0xfff,  0x1000, 0x10ff, 0x1100, 0x1111, 0x1122, 0x1133,
					0x1147, 0x114f, 0x1150, 0x1160, 0x1168, 0x1170, 0x1178 };
	find(text, strlen(text), pcs, 14);
	for (size_t i = 0; i < 14; i++) {
		assert_int_equal(found[i].quality, want[i].quality);
		assert_int_equal(found[i].line, want[i].line);
		assert_int_equal(found[i].column, want[i].column);
		assert_true(!found[i].name == !want[i].name && !found[i].file == !want[i].file);
		if (want[i].name)
			assert_string_equal(found[i].name, want[i].name);
		if (want[i].file)
			assert_string_equal(found[i].file, want[i].file);
	}
	forget(14);
}

/* As Exception.format_mfa writes them. */
static void test_elixir_names(void **state)
{
	(void)state;
	static const char text[] = "1000 10 $'Elixir.Enum':map/2\n"
				   "1010 10 $'Elixir.Shop.Basket':'-build/1-fun-0-'/2\n"
				   "1020 10 $'Elixir.Enum':'empty?'/1\n"
				   "1030 10 $'Elixir.Map':'fetch!'/2-CodeInfoPrologue\n"
				   "1040 10 $'Elixir.A':'odd name'/0\n"
				   "1050 10 $'Elixir.A':'-'/2\n"
				   "1060 10 $'Elixir.A':'-a/x-fun-0-'/2\n"
				   "1070 10 $'Elixir.A':'--'/2\n"
				   "1080 10 $'Elixir.A':'-/1-fun-0-'/2\n"
				   "1090 10 $lists:'-filter/2-lc$^0/1-0-'/2\n"
				   "10a0 10 $'Elixir.A':''/0\n"
				   "10b0 10 $'Elixir.A':'-a/1-fun-0-/2-fun-1-'/1\n"
				   "10c0 10 $'Elixir.A':'-map/2-lists^map/1-1-'/2\n"
				   "10d0 10 $'Elixir.A':'-odd name/1-fun-0-'/2\n"
				   "10e0 10 $'Elixir.A':'Big'/1\n"
				   "10f0 10 $'Elixir.A':'-x/1-lc$^0/1-0-'/1\n";
	static const char *const want[] = {
		"Enum.map/2",
		"anonymous fn/2 in Shop.Basket.build/1",
		"Enum.empty?/1",
		"Map.fetch!/2",
		"A.\"odd name\"/0",
		"A.-/2",
		"A.\"-a/x-fun-0-\"/2",
		"A.--/2",
		"A.\"-/1-fun-0-\"/2",
		"lists:'-filter/2-lc$^0/1-0-'/2",
		"A.\"\"/0",
		"anonymous fn/1 in A.\"a/1-fun-0-\"/2",
		"A.\"-map/2-lists^map/1-1-\"/2",
		"anonymous fn/2 in A.\"odd name\"/1",
		"A.\"Big\"/1",
		"A.\"-x/1-lc$^0/1-0-\"/1",
	};
	static const uint64_t pcs[] = { 0x1000, 0x1010, 0x1020, 0x1030, 0x1040, 0x1050, 0x1060, 0x1070,
					0x1080, 0x1090, 0x10a0, 0x10b0, 0x10c0, 0x10d0, 0x10e0, 0x10f0 };
	find(text, strlen(text), pcs, 16);
	for (size_t i = 0; i < 16; i++)
		assert_string_equal(found[i].name, want[i]);
	forget(16);
}

/* Memory is reused: a newer function may cover older ones, or begin in the middle of one. */
static void test_newest_wins(void **state)
{
	(void)state;
	static const char text[] = "1000 100 old\n1080 10 inner\n1040 100 new\n1200 10 far\n";
	static const uint64_t pcs[] = { 0x1000, 0x103f, 0x1040, 0x1085, 0x113f, 0x1140, 0x1200 };
	static const char *const want[] = { "old", "old", "new", "new", "new", NULL, "far" };
	find(text, strlen(text), pcs, 7);
	for (size_t i = 0; i < 7; i++) {
		if (want[i])
			assert_string_equal(found[i].name, want[i]);
		else
			assert_null(found[i].name);
	}
	forget(7);
}

/* Lines longer than the buffer, binary noise, numbers that overflow; the last line is valid. */
static void test_damage(void **state)
{
	(void)state;
	static const uint64_t pcs[] = { 0x10, 0x1000, UINT64_MAX };
	size_t len = 300000;
	char *text = malloc(len + 64);
	for (unsigned int round = 0; round < 20; round++) {
		srand(round);
		for (size_t i = 0; i < len; i++)
			text[i] = round % 2 ? "0123456789abcdef \n"[rand() % 18] : (char)rand();
		if (round < 2)
			memset(text, 'f', len);
		strcpy(text + len, "\n1000 10 right\nfffffffffffffff0 ffffffffffffffff end\n");
		find(text, strlen(text + len) + len, pcs, 3);
		assert_string_equal(found[1].name, "right");
		assert_string_equal(found[2].name, "end");
		forget(3);
	}
	free(text);
	assert_int_equal(perfmap_find(-1, pcs, 3, found), -EBADF);
	assert_null(found[0].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_elixir_names),
		cmocka_unit_test(test_newest_wins),
		cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
