/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind: .eh_frame of one module -> sorted compact rows (bpf/rows.h) with a page index. In: an ELF
 * file or the bytes of its section. Out: a table to publish, to look into, or to print. It writes no
 * BPF maps and knows no processes.
 *
 * A damaged section gives no table at all, never half of one. Rules that are sound but have no row
 * become rows of a kind that says so, and are counted.
 */
#ifndef ALYS_UNWIND_H
#define ALYS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "elf/elf.h"
#include "rows.h"

struct unwind_counts {
	uint64_t fdes;
	uint64_t outside;                             /* FDEs for no code of this file: left out */
	uint64_t plain, spec, none, end, plt, signal; /* rows by kind */
	uint64_t unsupported[ALYS_ROW_WHY_CNT];
};

struct unwind_table {
	uint64_t page0;  /* address in the file >> ALYS_PAGE_SHIFT */
	uint32_t *pages; /* first row of each page, and rows_cnt after the last */
	size_t pages_cnt;
	uint32_t *rows;
	size_t rows_cnt, rows_cap;
	struct alys_spec *specs; /* what aux of ALYS_ROW_SPEC rows counts */
	size_t specs_cnt, specs_cap;
	struct unwind_counts counts;
};

/* The section's bytes, where they are in the file's image, and the code that may be described. */
struct unwind_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	uint64_t text_lo, text_hi;
};

/*
 * NULL with err->code ENODATA when there is no .eh_frame, ENOTSUP when there is only .debug_frame, which
 * is not read, and EBADMSG when it is damaged.
 */
struct unwind_table *unwind_compile(const struct elf *e, struct err *err);
struct unwind_table *unwind_compile_section(const struct unwind_section *s, struct err *err);
/*
 * The kernel's vdso, from this process: all 64-bit processes have the same one, each at an address of
 * its own, which is the bias.
 */
struct unwind_table *unwind_compile_vdso(struct err *err);
void unwind_free(struct unwind_table *t);

/* One row spelled out. */
struct unwind_row {
	uint8_t kind; /* ALYS_ROW_*; ALYS_ROW_SPEC for all rows that have a rule */
	uint32_t aux; /* of PLT and UNSUPPORTED */
	struct alys_spec rule;
	uint64_t from; /* first address it holds for, within its page */
};

/* False when vaddr lies outside the table; then row is of kind NONE. */
bool unwind_row_at(const struct unwind_table *t, uint64_t vaddr, struct unwind_row *row);
/* Bytes that the page index and the rows take. */
size_t unwind_size(const struct unwind_table *t);
const char *unwind_why(uint32_t why);
/* A line per row, in the words of readelf --debug-dump=frames-interp; then the counts. */
int unwind_dump(const struct unwind_table *t, FILE *out);

#endif
