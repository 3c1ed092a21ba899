/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/row_writer: builds the rows and the page index of a table, address by address.
 */
#ifndef ALYS_UNWIND_ROW_WRITER_H
#define ALYS_UNWIND_ROW_WRITER_H

#include "base/map.h"
#include "unwind/unwind.h"

struct row_writer {
	struct unwind_table *t;
	uint64_t pages_end; /* later addresses are outside */
	uint64_t page_end;  /* of the current page */
	uint32_t now;       /* the latest row, without pc */
	struct map specs;   /* hash of a spec -> index + 1 */
};

/* Code from lo to hi; 0 or -ENOMEM. */
int row_writer_open(struct row_writer *w, struct unwind_table *t, uint64_t lo, uint64_t hi);
/* info (a row without its pc) applies from pc on. pc ascends. 0 or -ENOMEM. */
int row_write(struct row_writer *w, uint64_t pc, uint32_t info);
/* The row that refers to this spec. */
uint32_t row_of_spec(struct row_writer *w, const struct alys_spec *spec);
/* Completes the page index and counts the rows. 0 or -ENOMEM. */
int row_writer_close(struct row_writer *w);

#endif
