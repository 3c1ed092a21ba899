/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: answers one question about a snapshot with a table. Catalog, snapshot and options in, bytes in one of
 * REPORT_FORMAT out; same input, same bytes. Uses no process, file or clock.
 */
#ifndef ALYS_REPORT_H
#define ALYS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "catalog/catalog.h"
#include "format/sink.h"
#include "format/skip.h"
#include "model/model.h"

#define REPORT_TOP_STANDARD UINT64_MAX

/* Option values are indexes into these lists. */
#define REPORT_BY "stack|site|function|file|library|type|size|thread|erlang-process|process|service|container|time"
enum report_by {
	BY_STACK,
	BY_SITE,
	BY_FUNCTION,
	BY_FILE,
	BY_LIBRARY,
	BY_TYPE,
	BY_SIZE,
	BY_THREAD,
	BY_ERLANG_PROCESS,
	BY_PROCESS,
	BY_SERVICE,
	BY_CONTAINER,
	BY_TIME,
	BY_STANDARD,
};

#define REPORT_SHOW "live|alloc|peak|temporary|leaked|freed"
enum report_show { SHOW_LIVE, SHOW_ALLOC, SHOW_PEAK, SHOW_TEMPORARY, SHOW_LEAKED, SHOW_FREED, SHOW_STANDARD };

#define REPORT_SORT "size|count|name|growth"
enum report_sort { SORT_SIZE, SORT_COUNT, SORT_NAME, SORT_GROWTH, SORT_STANDARD };

#define REPORT_FORMAT "text|markdown|tsv|json|csv|tally"
enum report_format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_TSV, FORMAT_JSON, FORMAT_CSV, FORMAT_TALLY };

/* For diff: totals, or rates per second; by default, depends on the lengths of the recordings. */
#define REPORT_PER "recording|second"
enum report_per { PER_RECORDING, PER_SECOND, PER_STANDARD };

#define REPORT_DEPTH 5 /* default number of frames shown and used to tell stacks apart */

struct report_options {
	uint32_t by, show, sort, format, per;
	bool ascending;
	bool inclusive; /* by function: includes its callees' allocations */
	bool keep_allocator_frames;
	uint64_t top;       /* rows, 0 = all; REPORT_TOP_STANDARD: the format's default */
	uint64_t min_bytes; /* hide smaller groups */
	uint32_t min_count;
	uint32_t depth;                /* frames shown per stack, 0 = all */
	struct skip skip;              /* leaf frames to skip */
	const char *focus, *ignore;    /* regular expressions on function and file names */
	const char *type;              /* only stacks of this type */
	const char *callers, *callees; /* of this function */
	const char *columns;           /* "count,type": only these columns, in this order; NULL = all */
	uint32_t pid;                  /* only this process, 0 = all */
};

struct report_input {
	const struct catalog *catalog;
	const struct snapshot *snapshot;
	uint64_t start_ns; /* origin of times */
	bool part;         /* the snapshot covers part of the recording */
	double length_s;   /* of the recording, for diff; 0 = unknown */
	struct buf *aside; /* receives a note for which -f tsv, csv and tally have no place; may be NULL */
};

/* What a heap must track to answer: enum heap_watch, or-ed. */
unsigned int report_needs(const struct report_options *o);
/* Which blocks count if the options do not say: depends on the recording. */
enum report_show report_show_of(const struct report_options *o, const struct report_input *in);
/*
 * 0 or -errno: -ENODATA: nothing to show; -ENOENT: a given name or number is not in the recording (err says where to
 * find one); -EINVAL: incompatible options.
 */
int report_render(const struct report_input *in, const struct report_options *o, struct sink_out *out, struct err *err);
/* Title of a comparison: "Bytes allocated per second, before and after". */
const char *report_diff_title(enum report_show show, bool per_second);
/* Does diff compare rates? 0, or -EINVAL if that cannot be decided. */
int report_diff_per_second(const struct report_input *a, const struct report_input *b, const struct report_options *o, bool *out,
			   struct err *err);
/* Differences from a to b, by group. */
int report_diff(const struct report_input *a, const struct report_input *b, const struct report_options *o, struct sink_out *out,
		struct err *err);

#endif
