/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/heap: tables about the live heap of a collector, which no recording was made of. Rows that
 * others counted come in, bytes in one of the five formats go out; of the options count the format,
 * the order, what is hidden and the columns.
 */
#ifndef ALYS_REPORT_HEAP_H
#define ALYS_REPORT_HEAP_H

#include "report/report.h"

struct census_facts {
	uint32_t tgid;
	const char *command, *collector, *layout; /* clean texts */
	uint64_t gc_no;
	bool upper_bound; /* marks are not of one finished collection */
	double took_ms;
	const char *notes; /* lines for people, each ended by a newline */
};

struct type_row {
	const char *name, *known; /* clean; where the name is from */
	double cnt, bytes;
	bool is_type; /* false: buffers and the like, which are not objects of a class */
};

struct type_table {
	struct census_facts facts;
	struct type_row *rows;
	size_t rows_cnt, rows_cap;
	double cnt, bytes;               /* of the whole heap */
	double doubtful, doubtful_bytes; /* of them may be buffers, and are in rows of types */
};

/* Sorts the rows. 0 or -errno. */
int report_types(struct type_table *t, const struct report_options *o, struct sink_out *out, struct err *err);
/* "3\n20\tFoo\n...": how many lines follow, then a number and a class a line. bytes: sizes, not counts. */
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
	double pinned_blocks, pinned_bytes; /* blocks that few live objects keep, and those objects' bytes */
};

int report_accounts(struct account_table *t, const struct report_options *o, struct sink_out *out, struct err *err);

#endif
