/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles arbitrary bytes as .eh_frame. What is accepted must give a valid table: a sorted page index,
 * rows of each page ascending from 0, only existing kinds, and every row found by a lookup.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

static void check_row(const struct unwind_table *t, uint32_t row, uint64_t page)
{
	uint32_t info = row & ALYS_ROW_INFO;
	struct unwind_row r;
	if (info & ALYS_ROW_SPECIAL) {
		uint32_t aux = (info & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT;
		CHECK((info & ALYS_ROW_KIND) <= ALYS_ROW_SPEC);
		CHECK((info & ALYS_ROW_KIND) != ALYS_ROW_SPEC || aux < t->specs_cnt);
	}
	CHECK(unwind_row_at(t, page | row >> ALYS_ROW_PC_SHIFT, &r));
	CHECK(r.from == (page | row >> ALYS_ROW_PC_SHIFT));
}

static void check_table(const struct unwind_table *t, size_t size)
{
	/* The input bounds the memory: each row needs a byte of input or begins a page. */
	CHECK(t->rows_cnt <= size + t->pages_cnt);
	CHECK(t->pages[t->pages_cnt] == t->rows_cnt);
	for (size_t p = 0; p < t->pages_cnt; p++) {
		CHECK(t->pages[p] < t->pages[p + 1]);
		CHECK(t->rows[t->pages[p]] >> ALYS_ROW_PC_SHIFT == 0);
		for (uint32_t i = t->pages[p]; i < t->pages[p + 1]; i++) {
			check_row(t, t->rows[i], (t->page0 + p) << ALYS_PAGE_SHIFT);
			if (i > t->pages[p])
				CHECK(t->rows[i - 1] >> ALYS_ROW_PC_SHIFT < t->rows[i] >> ALYS_ROW_PC_SHIFT);
		}
	}
}

static void check_section(const uint8_t *data, size_t size, uint16_t machine)
{
	struct unwind_section s = { data, size, 0x900000, 0x10000, 0x90000, machine };
	struct err err = { 0 };
	struct unwind_table *t = unwind_compile_section(&s, &err);
	CHECK(!t == !!err.code);
	if (t)
		check_table(t, size);
	unwind_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_section(data, size, EM_X86_64);
	check_section(data, size, EM_AARCH64);
	return 0;
}
