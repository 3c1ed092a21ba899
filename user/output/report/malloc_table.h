/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/malloc_table: where the memory of a process with a malloc heap is, and its blocks by size. Sums made elsewhere come
 * in, bytes in one of the five formats go out; uses the options format, order, filters and columns.
 */
#ifndef ALYS_REPORT_MALLOC_TABLE_H
#define ALYS_REPORT_MALLOC_TABLE_H

#include "report/heap_table.h"

struct memory_line { /* a part of resident memory; indented texts are parts of the line before that is not */
	const char *key, *text;
	double resident, bytes; /* bytes, also what is not resident: -1 = does not apply */
	double cnt;             /* -1 = does not apply */
};

struct size_row { /* of arenas, or of mappings of their own */
	char *name;
	double used, used_bytes, tcache, fastbin, bins, free_bytes;
};

struct malloc_table {
	struct census_facts facts;
	double rss;
	const struct memory_line *lines;
	size_t lines_cnt;
	struct size_row *rows;
	size_t rows_cnt, rows_cap;
};

/* Sorts the rows. 0 or -errno. */
int report_malloc(struct malloc_table *t, const struct report_options *o, struct sink_out *out, struct err *err);

#endif
