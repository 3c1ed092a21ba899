/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: one question about one snapshot as a table. Catalog, snapshot and options in, bytes in one of
 * REPORT_FORMAT out; same input, same bytes. Asks no process, file or clock; draws no pictures.
 */
#ifndef ALYS_REPORT_H
#define ALYS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "catalog/catalog.h"
#include "format/sink.h"
#include "format/skip.h"
#include "model/model.h"

#define REPORT_TOP_STANDARD UINT64_MAX

/* The numbers are the places in these lists, as options give them. */
#define REPORT_BY "stack|site|function|file|library|type|size|thread|process|time"
enum report_by {
	BY_STACK,
	BY_SITE,
	BY_FUNCTION,
	BY_FILE,
	BY_LIBRARY,
	BY_TYPE,
	BY_SIZE,
	BY_THREAD,
	BY_PROCESS,
	BY_TIME,
	BY_STANDARD,
};

#define REPORT_SHOW "live|alloc|peak|temporary|leaked|freed"
enum report_show { SHOW_LIVE, SHOW_ALLOC, SHOW_PEAK, SHOW_TEMPORARY, SHOW_LEAKED, SHOW_FREED, SHOW_STANDARD };

#define REPORT_SORT "size|count|name|growth"
enum report_sort { SORT_SIZE, SORT_COUNT, SORT_NAME, SORT_GROWTH, SORT_STANDARD };

#define REPORT_FORMAT "text|markdown|tsv|json|csv|tally"
enum report_format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_TSV, FORMAT_JSON, FORMAT_CSV, FORMAT_TALLY };

/* Of diff: sums of each recording, or what they come to a second; unless asked, as their lengths suggest. */
#define REPORT_PER "recording|second"
enum report_per { PER_RECORDING, PER_SECOND, PER_STANDARD };

#define REPORT_DEPTH 5 /* frames of a stack that are shown and told apart, unless asked otherwise */

struct report_options {
	uint32_t by, show, sort, format, per;
	bool ascending;
	bool inclusive; /* by function: what its callees allocate counts too */
	bool keep_allocator_frames;
	uint64_t top;       /* rows, 0 = all; REPORT_TOP_STANDARD: what fits the format */
	uint64_t min_bytes; /* smaller groups are hidden */
	uint32_t min_count;
	uint32_t depth;                /* frames of a stack that are shown, 0 = all */
	struct skip skip;              /* frames at the leaf that are not */
	const char *focus, *ignore;    /* regular expressions on function and file names */
	const char *type;              /* the stacks of this type alone */
	const char *callers, *callees; /* of this function */
	const char *columns;           /* "count,type": these, in this order; NULL = all */
	uint32_t pid;                  /* this process alone, 0 = all */
};

struct report_input {
	const struct catalog *catalog;
	const struct snapshot *snapshot;
	uint64_t start_ns; /* where times count from */
	bool part;         /* the snapshot is of a part of the recording */
	double length_s;   /* of the recording, for diff; 0 = not known */
};

/* What a heap must watch to answer: enum heap_watch, or-ed. */
unsigned int report_needs(const struct report_options *o);
/* Which blocks count where the options leave it open, as the recording suggests. */
enum report_show report_show_of(const struct report_options *o, const struct report_input *in);
/*
 * 0 or -errno: -ENODATA when there is nothing to show, -ENOENT when a name or number given is not in
 * the recording (err tells where to find one that is), -EINVAL when options do not fit together.
 */
int report_render(const struct report_input *in, const struct report_options *o, struct sink_out *out, struct err *err);
/* What diff compares, as a title: "Bytes allocated per second, before and after". */
const char *report_diff_title(enum report_show show, bool per_second);
/* Whether diff compares what two recordings did a second. 0, or -EINVAL when that cannot be told. */
int report_diff_per_second(const struct report_input *a, const struct report_input *b, const struct report_options *o, bool *out,
			   struct err *err);
/* What differs from a to b, group by group. */
int report_diff(const struct report_input *a, const struct report_input *b, const struct report_options *o, struct sink_out *out,
		struct err *err);

#endif
