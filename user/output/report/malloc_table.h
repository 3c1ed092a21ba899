/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/malloc_table: where the memory of a process with a malloc heap is, and its blocks by size, or its mappings. Sums made
 * elsewhere come in, bytes in one of the five formats go out; uses the options format, order, filters and columns.
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

struct memory_lines {
	const struct memory_line *all;
	size_t cnt;
	double rss;
	const char *counted, *counted_key; /* heading of what cnt counts */
};

struct malloc_table {
	struct census_facts facts;
	struct memory_lines memory;
	struct size_row *rows;
	size_t rows_cnt, rows_cap;
};

struct mapping_row {
	char name[48];
	double resident, mapped, huge, blocks, block_bytes; /* blocks that were recorded in it */
};

struct mapping_table {
	struct census_facts facts;
	struct memory_lines memory;
	bool recorded;            /* there was a recording */
	struct mapping_row *rows; /* of anonymous memory */
	size_t rows_cnt, rows_cap;
};

/* Both sort the rows. 0 or -errno. */
int report_malloc(struct malloc_table *t, const struct report_options *o, struct sink_out *out, struct err *err);
int report_mappings(struct mapping_table *t, const struct report_options *o, struct sink_out *out, struct err *err);

#endif
