/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam: tables of types that lie, in small files made by the compiler; a program that is no VM; and what the code of the
 * installed VM tells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beam/block_types.h"
#include "beam/generations.h"
#include "beam/pids.h"
#include "beam/process_layout.h"
#include "beam/process_names.h"
#include "beam/reclaimed.h"
#include "code/funcs.h"

static char folder[64];

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/alys-beam-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* The types that are found in a program with these tables. */
static struct beam_types types_in(const char *tables)
{
	char source[128], program[128], command[512];
	struct err err = { 0 };
	struct beam_types t;
	snprintf(source, sizeof(source), "%s/t.c", folder);
	snprintf(program, sizeof(program), "%s/t", folder);
	FILE *f = fopen(source, "w");
	assert_non_null(f);
	fprintf(f, "__attribute__((used)) void begin(void) {}\n%s\n", tables);
	fclose(f);
	snprintf(command, sizeof(command), TEST_CC " -w -nostdlib -no-pie -static -Wl,-ebegin -o %s %s", program, source);
	assert_int_equal(system(command), 0);
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "tables", &err);
	assert_non_null(e);
	assert_int_equal(beam_types_find(e, &t), 0);
	elf_close(e);
	close(fd);
	return t;
}

#define NUMBERS(...) "const unsigned erts_alc_n2t[] = { " #__VA_ARGS__ " };"
#define TEXTS(...) "const char *const erts_alc_n2td[] = { " #__VA_ARGS__ " };"
/* Of n types, each with a number of its own. */
#define COUNTED(n)                                                                                                   \
	"asm(\".globl erts_alc_n2t, erts_alc_n2td\\n.data\\n.set i, 1\\nerts_alc_n2t: .rept " #n "\\n.long i\\n"     \
	".set i, i + 1\\n.endr\\n.size erts_alc_n2t, 4 * " #n "\\nerts_alc_n2td: .rept " #n "\\n.quad 1f\\n.endr\\n" \
	".size erts_alc_n2td, 8 * " #n "\\n1: .string \\\"type\\\"\");"
/* Of any length in its symbol, of none in the file. */
#define CLAIM(name, size) "asm(\".globl " #name "\\n.data\\n" #name ": .long 1\\n.size " #name ", " #size "\");"

static void test_types(void **state)
{
	struct beam_types t = types_in(NUMBERS(0, 5, 0x7fff) TEXTS("invalid_type", "one_1", "two"));
	(void)state;
	assert_int_equal(t.at_cnt, 2);
	assert_string_equal(beam_type_name(&t, 5), "one_1");
	assert_string_equal(beam_type_name(&t, 0x7fff), "two");
	assert_null(beam_type_name(&t, 6));
	beam_types_free(&t);
	t = types_in(COUNTED(1024));
	assert_int_equal(t.at_cnt, 1024);
	beam_types_free(&t);
}

/* None of a table is believed that does not fit the other one, or of which one element cannot be so. */
static void test_types_that_lie(void **state)
{
	static const char *const lies[] = {
		NUMBERS(0, 5),
		TEXTS("invalid_type", "one"),
		NUMBERS(0, 5) TEXTS("invalid_type", "one", "two"),
		NUMBERS(0, 5, 5) TEXTS("invalid_type", "one", "two"),
		NUMBERS(0, 5, 0x8000) TEXTS("invalid_type", "one", "two"),
		NUMBERS(0, 5, 0xffffffff) TEXTS("invalid_type", "one", "two"),
		NUMBERS(0, 5, 6) TEXTS("invalid_type", "one", ""),
		NUMBERS(0, 5, 6) TEXTS("invalid_type", "one", 0),
		NUMBERS(0, 5, 6) TEXTS("invalid_type", "one", (char *)8),
		NUMBERS(0, 5, 6) TEXTS("invalid_type", "one", (char *)-1),
		NUMBERS(0, 5, 6) TEXTS("invalid_type", "one", "\33[2J"),
		NUMBERS(0, 5, 6) TEXTS("invalid_type", "one", "a type whose name is longer than any that a VM has"),
		"const char endless[1 << 20] = { [0 ... (1 << 20) - 1] = 'a' };" NUMBERS(0, 5, 6)
			TEXTS("invalid_type", "one", endless),
		COUNTED(1025),
		CLAIM(erts_alc_n2t, 4096) CLAIM(erts_alc_n2td, 8192),
		CLAIM(erts_alc_n2t, 0x7ffffffffffffffc) CLAIM(erts_alc_n2td, 0xfffffffffffffff8),
	};
	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct beam_types t = types_in(lies[i]);
		assert_int_equal(t.at_cnt, 0);
		beam_types_free(&t);
	}
}

/* In a program that is no VM. */
static void test_no_vm(void **state)
{
	struct err err;
	struct funcs f = { 0 };
	struct alys_beam l = { 0 };
	static const struct alys_beam none;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", &err);
	(void)state;
	assert_non_null(e);
	assert_int_equal(funcs_load(&f, e, &err), 0);
	beam_pids_find(&f, &l);
	beam_generations_find(&f, &l);
	struct beam_atoms atoms;
	struct beam_types types;
	beam_process_names_find(&f, &l, &atoms);
	assert_int_equal(beam_types_find(e, &types), 0);
	assert_int_equal(types.at_cnt, 0);
	assert_false(beam_reclaimed_find(&f).known);
	assert_false(beam_layout_find(&f, &l));
	assert_memory_equal(&l, &none, sizeof(l));
	funcs_free(&f);
	elf_close(e);
	close(fd);
}

/* Names and numbers of the VM's tables; an own type is one of them. */
static void expect_types(const struct elf *e)
{
	struct beam_types t;
	uint16_t heaps[ALYS_BEAM_OWN_TYPES] = { 0 };
	assert_int_equal(beam_types_find(e, &t), 0);
	assert_true(t.at_cnt > 200);
	beam_types_of_heaps(&t, heaps);
	for (size_t i = 0; i < ALYS_BEAM_OWN_TYPES; i++)
		assert_non_null(beam_type_name(&t, heaps[i]));
	assert_string_equal(beam_type_name(&t, heaps[0]), "heap");
	assert_null(beam_type_name(&t, 0));
	beam_types_free(&t);
}

/* Two neighbours in the data of each scheduler. */
static void expect_reclaimed(const struct funcs *f)
{
	struct byte_counter c = beam_reclaimed_find(f);
	assert_true(c.known);
	assert_int_equal(c.words[1] - c.words[0], 8);
	assert_true(c.stride > c.words[1] && c.through && c.parts && c.unit == 8);
}

static void expect_known(const char *path)
{
	struct err err = { 0 };
	struct funcs f;
	struct alys_beam l;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, path, &err);
	assert_non_null(e);
	assert_int_equal(funcs_load(&f, e, &err), 0);
	assert_true(beam_layout_find(&f, &l));
	beam_pids_find(&f, &l);
	assert_true(l.pid_bits == (l.pid_table ? 28 : 15));
	beam_generations_find(&f, &l);
	assert_true(l.gen_gcs && l.gen_gcs % 4 == 0);
	struct beam_atoms atoms;
	beam_process_names_find(&f, &l, &atoms);
	assert_true(atoms.table);
	assert_string_equal(atoms.names[0], "false");
	assert_true(l.registered && l.registered_name && l.initial);
	expect_types(e);
	expect_reclaimed(&f);
	funcs_free(&f);
	elf_close(e);
	close(fd);
}

/* The VM of the Debian that this is, or whose libraries these are: OTP 25 in Debian 12, 27 in Debian 13. */
static void test_installed(void **state)
{
	char pattern[PATH_MAX];
	glob_t found;
	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/usr/lib/erlang/erts-*/bin/beam.smp", getenv("SYSROOT") ?: "");
	if (glob(pattern, 0, NULL, &found))
		skip();
	for (size_t i = 0; i < found.gl_pathc; i++)
		expect_known(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_types_that_lie),
		cmocka_unit_test(test_no_vm),
		cmocka_unit_test(test_installed),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
