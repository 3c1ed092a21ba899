/* SPDX-License-Identifier: Apache-2.0 */
/* report/sheet: cells, and how the five formats write them. Private to this module. */
#ifndef ALYS_REPORT_SHEET_H
#define ALYS_REPORT_SHEET_H

#include <math.h>

#include "base/buf.h"
#include "base/err.h"
#include "format/field_names.h"
#include "report/report.h"

enum column_kind {
	COLUMN_COUNT,
	COLUMN_BYTES,
	COLUMN_DIGITS, /* a count or bytes without separators, as in Erlang's tables */
	COLUMN_CHANGE, /* signed bytes or blocks */
	COLUMN_PERCENT,
	COLUMN_RATIO, /* in brackets, for per-call figures */
	COLUMN_SECONDS,
	COLUMN_TEXT,
	COLUMN_LINES, /* a stack: one frame per line */
};

static inline bool column_is_text(enum column_kind kind)
{
	return kind == COLUMN_TEXT || kind == COLUMN_LINES;
}

struct column {
	const char *title; /* for people */
	const char *key;   /* for programs and --columns */
	enum column_kind kind;
};

struct cell {
	double number;
	uint32_t text; /* in sheet.texts */
};

#define CELL_NONE ((double)NAN) /* a number that is not known: "-" for people, null in JSON, empty elsewhere */

#define COLUMNS_MAX 10

struct sheet {
	const char *title; /* above the table, for people; NULL = none */
	struct column columns[COLUMNS_MAX];
	size_t columns_cnt;
	struct cell *cells; /* row by row */
	size_t cells_cnt, cells_cap;
	struct cell total[COLUMNS_MAX];
	bool has_total;
	struct names *texts;
	struct buf facts; /* members of the JSON object, each ended by a comma */
	struct buf notes; /* lines for people */
};

void sheet_add_column(struct sheet *t, const char *title, const char *key, enum column_kind kind);
/* columns_cnt cells to fill, NULL when out of memory. Valid until the next row. */
struct cell *sheet_add_row(struct sheet *t);
/* Keeps the columns of "count,type" in that order; NULL: all. */
int sheet_pick(struct sheet *t, const char *keys, struct err *err);
int sheet_write(const struct sheet *t, enum report_format format, struct sink_out *out, struct err *err);
void sheet_free(struct sheet *t); /* does not free the texts */
/* Selects columns, writes and frees; if rc is an error, only frees. */
int sheet_finish(struct sheet *t, int rc, const struct report_options *o, struct sink_out *out, struct err *err);

/* Rounded, clamped to int64, 0 for NaN. */
int64_t number_whole(double n);
/* "1,234", "12.50", "+17": as in text and Markdown. */
void number_text(struct buf *out, enum column_kind kind, double n);

#endif
