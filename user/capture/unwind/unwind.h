/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind: .eh_frame of one module -> sorted compact rows (bpf/rows.h) with a page index. In: an ELF file or the bytes
 * of its section. Out: a table to publish, search or print. It writes no BPF maps and knows nothing of processes.
 *
 * A damaged section gives no table at all, never half of one. Valid rules that no row can express become rows of a kind
 * that says so, and are counted.
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
	uint64_t outside;                             /* FDEs without code in this file: skipped */
	uint64_t plain, spec, none, end, plt, signal; /* rows by kind */
	uint64_t unsupported[ALYS_ROW_WHY_CNT];
};

struct unwind_table {
	uint64_t machine; /* EM_*: what a row says depends on it */
	uint64_t page0;   /* address in the file >> ALYS_PAGE_SHIFT */
	uint32_t *pages;  /* first row of each page, and rows_cnt after the last */
	size_t pages_cnt;
	uint32_t *rows;
	size_t rows_cnt, rows_cap;
	struct alys_spec *specs; /* indexed by aux of ALYS_ROW_SPEC rows */
	size_t specs_cnt, specs_cap;
	struct unwind_counts counts;
};

/* The section's bytes, their address in the file's image, and the range of code that they may describe. */
struct unwind_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	uint64_t text_lo, text_hi;
	uint16_t machine; /* EM_*, 0 = that of this program */
};

/* NULL with err->code ENODATA: no .eh_frame; ENOTSUP: only .debug_frame, which is not read; EBADMSG: damaged. */
struct unwind_table *unwind_compile(const struct elf *e, struct err *err);
struct unwind_table *unwind_compile_section(const struct unwind_section *s, struct err *err);
/* The kernel's vdso, read from this process: all 64-bit processes have the same one, at different addresses. */
struct unwind_table *unwind_compile_vdso(struct err *err);
void unwind_free(struct unwind_table *t);

/* One row, decoded. */
struct unwind_row {
	uint8_t kind; /* ALYS_ROW_*; ALYS_ROW_SPEC for all rows that have a rule */
	uint32_t aux; /* of PLT and UNSUPPORTED */
	struct alys_spec rule;
	uint64_t from; /* first address it holds for, within its page */
};

/* False if vaddr is outside the table; then row is of kind NONE. */
bool unwind_row_at(const struct unwind_table *t, uint64_t vaddr, struct unwind_row *row);
/* Size of page index and rows in bytes. */
size_t unwind_size(const struct unwind_table *t);
const char *unwind_why(uint32_t why);
/* One line per row, formatted like readelf --debug-dump=frames-interp; then the counts. */
int unwind_dump(const struct unwind_table *t, FILE *out);

#endif
