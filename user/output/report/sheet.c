/* SPDX-License-Identifier: Apache-2.0 */
/* report/sheet: see sheet.h. Writing one is in writers.c. */
#include "report/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

void sheet_add_column(struct sheet *t, const char *title, const char *key, enum column_kind kind)
{
	t->columns[t->columns_cnt++] = (struct column){ title, key, kind };
}

struct cell *sheet_add_row(struct sheet *t)
{
	for (size_t i = 0; i < t->columns_cnt; i++) {
		if (!VEC_PUSH(t, cells))
			return NULL;
	}
	return &t->cells[t->cells_cnt - t->columns_cnt];
}

static int find_column(const struct sheet *t, const char *key, size_t n)
{
	for (size_t i = 0; i < t->columns_cnt; i++) {
		if (strlen(t->columns[i].key) == n && !strncmp(t->columns[i].key, key, n))
			return (int)i;
	}
	return -1;
}

static int no_column(const struct sheet *t, const char *key, size_t n, struct err *err)
{
	struct buf known = { 0 };
	for (size_t i = 0; i < t->columns_cnt; i++)
		buf_addf(&known, "%s%s", i ? ", " : "", t->columns[i].key);
	err_set(err, EINVAL, "--columns: this report has no column \"%.*s\"; it has %s", (int)(n < 60 ? n : 60), key,
		buf_str(&known));
	buf_free(&known);
	return -EINVAL;
}

static void move_cells(struct sheet *t, const int *from, size_t n)
{
	struct sheet old = *t;
	for (size_t i = 0; i < n; i++) {
		t->columns[i] = old.columns[from[i]];
		t->total[i] = old.total[from[i]];
	}
	t->columns_cnt = n;
	t->cells_cnt = 0;
	/* Rows become shorter, so they can be compacted in place. */
	for (size_t at = 0; at < old.cells_cnt; at += old.columns_cnt) {
		struct cell row[COLUMNS_MAX];
		memcpy(row, old.cells + at, old.columns_cnt * sizeof(*row));
		for (size_t i = 0; i < n; i++)
			t->cells[t->cells_cnt++] = row[from[i]];
	}
}

int sheet_pick(struct sheet *t, const char *keys, struct err *err)
{
	int from[COLUMNS_MAX];
	size_t n = 0;
	for (const char *at = keys; at && *at;) {
		size_t len = strcspn(at, ",");
		int i = find_column(t, at, len);
		if (i < 0)
			return no_column(t, at, len, err);
		if (n == t->columns_cnt)
			return err_set(err, EINVAL, "--columns names a column twice");
		from[n++] = i;
		at += len + (at[len] == ',');
	}
	if (n)
		move_cells(t, from, n);
	return 0;
}

void sheet_free(struct sheet *t)
{
	free(t->cells);
	buf_free(&t->facts);
	buf_free(&t->notes);
	*t = (struct sheet){ 0 };
}

static void put_whole(struct buf *out, double n)
{
	bool negative = n <= -0.5;
	if (negative)
		buf_u8(out, '-');
	text_count(out, (uint64_t)number_whole(negative ? -n : n));
}

int64_t number_whole(double n)
{
	if (!isfinite(n))
		return 0;
	return fabs(n) >= 0x1p63 ? (n < 0 ? INT64_MIN : INT64_MAX) : (int64_t)llround(n);
}

void number_text(struct buf *out, enum column_kind kind, double n)
{
	switch (kind) {
	case COLUMN_PERCENT:
	case COLUMN_RATIO: buf_addf(out, "%.2f", n); break;
	case COLUMN_SECONDS: buf_addf(out, "%.3f", n); break;
	case COLUMN_DIGITS: buf_addf(out, "%" PRId64, number_whole(n)); break;
	case COLUMN_CHANGE:
		if (n >= 0.5)
			buf_u8(out, '+');
		put_whole(out, n);
		break;
	default: put_whole(out, n);
	}
}
