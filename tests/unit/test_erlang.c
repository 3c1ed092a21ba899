/* SPDX-License-Identifier: Apache-2.0 */
/* erlang: texts of atoms, from a table of atoms in this process that is laid out as a VM's, and from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "erlang/atoms.h"

#define ATOMS 1100 /* more than a page */
#define PAGE 1024
#define TERM(i) ((uint64_t)(i) << 6 | 0x0b)

struct atom {
	uint64_t next, hash;
	int32_t index;
	int16_t len, characters;
	const char *name;
	uint64_t rest[4];
};

static struct atom atoms[ATOMS];
static struct atom *pages[2][PAGE];
static struct atom **table_pages[2] = { pages[0], pages[1] };
static char names[ATOMS][BEAM_ATOM_NAME];
static struct {
	uint64_t hash[10];
	int32_t size, limit;
	struct atom ***pages;
	uint64_t rest[4];
} table;
static struct beam_atoms known;

static int begin(void **state)
{
	(void)state;
	memset(&known, 0, sizeof(known));
	for (int i = 0; i < ATOMS; i++) {
		int n = i == 5 ? 0 : snprintf(names[i], sizeof(names[i]), "%.*s%d", i % 7, "abcdefg", i);
		atoms[i] = (struct atom){ .index = i, .len = (int16_t)n, .characters = (int16_t)n, .name = names[i] };
		pages[i / PAGE][i % PAGE] = &atoms[i];
		if (i < BEAM_ATOMS)
			memcpy(known.names[i], names[i], sizeof(names[i]));
	}
	known.table = (uintptr_t)&table;
	table.size = ATOMS;
	table.pages = table_pages;
	return 0;
}

static struct atoms found(void)
{
	struct atoms a;
	atoms_find((uint32_t)getpid(), 0, &known, &a);
	return a;
}

static void expect(struct atoms *a, uint64_t term, const char *want)
{
	struct buf text = { 0 };
	assert_int_equal(atoms_text(a, term, &text), want != NULL);
	assert_string_equal(buf_str(&text), want ? want : "");
	buf_free(&text);
}

static void test_texts(void **state)
{
	struct atoms a = found();
	(void)state;
	assert_int_equal(a.pages, (uintptr_t)table_pages);
	for (int i = 0; i < ATOMS; i++)
		expect(&a, TERM(i), i == 5 ? NULL : names[i]);
}

static void test_no_atoms(void **state)
{
	struct atoms a = found();
	(void)state;
	expect(&a, 0, NULL);
	expect(&a, TERM(1) | 0x3f, NULL);
	expect(&a, TERM(2 * PAGE - 1), NULL);
	expect(&a, TERM(1ull << 40), NULL);
	expect(&(struct atoms){ 0 }, TERM(1), NULL);
}

/* An atom that says that it is another one, is too long, or whose text is nowhere. */
static void test_damaged_atoms(void **state)
{
	struct atoms a = found();
	(void)state;
	atoms[300].index = 301;
	atoms[302].len = 2000;
	atoms[303].len = -1;
	atoms[304].name = (const char *)8;
	expect(&a, TERM(300), NULL);
	expect(&a, TERM(302), NULL);
	expect(&a, TERM(303), NULL);
	expect(&a, TERM(304), NULL);
}

static void expect_not_found(void)
{
	struct atoms a = found();
	assert_int_equal(a.pages, 0);
	expect(&a, TERM(1), NULL);
}

/* What a VM could send without end: each of these takes reads, so it is asked no more. */
static void test_given_up(void **state)
{
	struct atoms a = found();
	(void)state;
	atoms[300].index = 301;
	for (int i = 0; i < 30; i++)
		expect(&a, TERM(300), NULL);
	expect(&a, TERM(7), names[7]);
	atoms[301].name = (const char *)8;
	for (int i = 0; i < 60; i++)
		expect(&a, TERM(301), NULL);
	expect(&a, TERM(7), NULL);
}

/* One that differs among those by which the layout is found. */
static void test_other_layouts(void **state)
{
	(void)state;
	known.names[BEAM_ATOMS - 1][0] ^= 1;
	expect_not_found();
	begin(state);
	atoms[7].index = 8;
	expect_not_found();
	begin(state);
	atoms[8].len = atoms[8].characters = 1;
	expect_not_found();
	begin(state);
	table.pages = NULL;
	expect_not_found();
	begin(state);
	known.table = 8;
	expect_not_found();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_texts, begin),         cmocka_unit_test_setup(test_no_atoms, begin),
		cmocka_unit_test_setup(test_damaged_atoms, begin), cmocka_unit_test_setup(test_given_up, begin),
		cmocka_unit_test_setup(test_other_layouts, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
