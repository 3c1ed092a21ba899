/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/heap_table: tables about the live heap of a collector, without a recording. Rows counted elsewhere come in, bytes in
 * one of the five formats go out; uses the options format, order, filters and columns.
 */
#ifndef ALYS_REPORT_HEAP_TABLE_H
#define ALYS_REPORT_HEAP_TABLE_H

#include "report/report.h"

struct census_facts {
	uint32_t tgid;
	const char *allocator; /* of a malloc heap, else NULL; then what is known of it in JSON: members, each ended by a comma */
	const char *more;
	const char *command, *collector, *layout; /* clean texts */
	uint64_t gc_no;
	bool upper_bound; /* marks are not from one finished collection */
	double took_ms;
	const char *notes; /* lines for people, each with a newline */
};

struct sheet;
/* The facts that all of these have, and their notes, into a sheet. */
void put_heap_facts(const struct census_facts *f, const char *report, struct sheet *s);

struct type_row {
	const char *name, *known; /* cleaned; source of the name */
	double cnt, bytes;
	bool is_type; /* false: buffers and other non-class memory */
};

struct type_table {
	struct census_facts facts;
	struct type_row *rows;
	size_t rows_cnt, rows_cap;
	double cnt, bytes;               /* of the whole heap */
	double doubtful, doubtful_bytes; /* of these, counted in rows of types but possibly buffers */
};

/* Sorts the rows. 0 or -errno. */
int report_types(struct type_table *t, const struct report_options *o, struct sink_out *out, struct err *err);
/* "3\n20\tFoo\n...": number of lines, then one number and class per line. bytes: sizes instead of counts. */
int report_type_lines(struct type_table *t, bool bytes, const struct report_options *o, struct sink_out *out, struct err *err);

struct class_row {   /* blocks for objects of one size and kind */
	double size; /* 0 = large objects */
	const char *kind;
	double blocks, block_bytes, slots, live, live_bytes, sparse_blocks;
};

struct account_table {
	struct census_facts facts;
	struct class_row *rows;
	size_t rows_cnt, rows_cap;
	/* Bytes; heap = live + slack + free + unmapped. rss 0 = unknown. */
	double rss, heap, live, slack, free, unmapped, largest_free;
	double pinned_blocks, pinned_bytes; /* blocks kept by few live objects, and those objects' bytes */
};

int report_accounts(struct account_table *t, const struct report_options *o, struct sink_out *out, struct err *err);

#endif
