/* report/sheet: building tables, and text and Markdown; see sheet.h. */
#include "report/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/format.h"
#include "report/writers.h"

#define FLUSH_SZ (256 * 1024)

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
	/* Rows only get shorter, so a row is written where it or one before it was read. */
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
	case COLUMN_RATIO:
		buf_addf(out, "%.2f", n);
		break;
	case COLUMN_SECONDS:
		buf_addf(out, "%.3f", n);
		break;
	case COLUMN_DIGITS:
		buf_addf(out, "%" PRId64, number_whole(n));
		break;
	case COLUMN_CHANGE:
		if (n >= 0.5)
			buf_u8(out, '+');
		put_whole(out, n);
		break;
	default:
		put_whole(out, n);
	}
}

static bool is_text(const struct column *c)
{
	return c->kind == COLUMN_TEXT || c->kind == COLUMN_LINES;
}

static const char *text_of(const struct sheet *t, const struct cell *c)
{
	return names_at(t->texts, c->text);
}

/* A character of three bytes and more may take two columns; names rarely have one. */
static size_t width_of(const char *text)
{
	size_t n = 0;
	for (; *text && *text != '\n'; text++)
		n += ((uint8_t)*text & 0xc0) != 0x80;
	return n;
}

static void pad(struct buf *b, size_t n, char with)
{
	while (n--)
		buf_u8(b, (uint8_t)with);
}

/* The cell as text; total rows have percent signs, so that a column of shares ends in 100 %. */
static void cell_text(const struct sheet *t, size_t column, const struct cell *c, bool total, struct buf *out)
{
	const struct column *of = &t->columns[column];
	if (is_text(of)) {
		buf_adds(out, total ? (column ? "[total]" : "Total:") : text_of(t, c));
		return;
	}
	number_text(out, of->kind, c->number);
	if (total && of->kind == COLUMN_PERCENT)
		buf_u8(out, '%');
}

static void widen(const struct sheet *t, const struct cell *row, bool total, size_t *widths)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < t->columns_cnt; i++) {
		buf_reset(&b);
		cell_text(t, i, &row[i], total, &b);
		size_t w = width_of(buf_str(&b));
		widths[i] = w > widths[i] ? w : widths[i];
	}
	buf_free(&b);
}

/* One line, and for a stack as many more as it has frames. Nothing is padded at a line's end. */
static void text_row(const struct sheet *t, const struct cell *row, bool total, const size_t *widths, struct buf *b)
{
	struct buf cell = { 0 };
	size_t left = 0;
	for (size_t i = 0; i < t->columns_cnt; i++) {
		bool ratio = t->columns[i].kind == COLUMN_RATIO, last = i + 1 == t->columns_cnt;
		buf_reset(&cell);
		cell_text(t, i, &row[i], total, &cell);
		const char *text = buf_str(&cell);
		size_t room = widths[i] - width_of(text);
		buf_adds(b, i ? "  " : "");
		buf_adds(b, ratio ? "[" : "");
		if (!is_text(&t->columns[i]))
			pad(b, room, ' ');
		for (; *text; text++) {
			buf_u8(b, (uint8_t)*text);
			if (*text == '\n')
				pad(b, left, ' ');
		}
		if (is_text(&t->columns[i]) && !last)
			pad(b, room, ' ');
		buf_adds(b, ratio ? "]" : "");
		left += widths[i] + 2 + (ratio ? 2 : 0);
	}
	buf_u8(b, '\n');
	b->failed |= cell.failed;
	buf_free(&cell);
}

static void text_head(const struct sheet *t, const size_t *widths, struct buf *b)
{
	for (size_t i = 0; i < t->columns_cnt; i++) {
		bool ratio = t->columns[i].kind == COLUMN_RATIO;
		size_t room = widths[i] - strlen(t->columns[i].title);
		buf_adds(b, i ? "  " : "");
		buf_adds(b, ratio ? "[" : "");
		pad(b, is_text(&t->columns[i]) ? 0 : room, ' ');
		buf_adds(b, t->columns[i].title);
		pad(b, is_text(&t->columns[i]) && i + 1 < t->columns_cnt ? room : 0, ' ');
		buf_adds(b, ratio ? "]" : "");
	}
	buf_u8(b, '\n');
}

static void text_rule(const struct sheet *t, const size_t *widths, struct buf *b)
{
	for (size_t i = 0; i < t->columns_cnt; i++) {
		bool ratio = t->columns[i].kind == COLUMN_RATIO;
		size_t n = widths[i];
		/* A rule as long as the longest name in the last column would only wrap. */
		if (i && i + 1 == t->columns_cnt && is_text(&t->columns[i]))
			n = strlen("[total]");
		buf_adds(b, i ? "  " : "");
		buf_adds(b, ratio ? "[" : "");
		pad(b, n, '-');
		buf_adds(b, ratio ? "]" : "");
	}
	buf_u8(b, '\n');
}

static int write_text(const struct sheet *t, struct sink_out *out, struct err *err)
{
	size_t widths[COLUMNS_MAX];
	struct buf b = { 0 };
	int rc = 0;
	for (size_t i = 0; i < t->columns_cnt; i++)
		widths[i] = strlen(t->columns[i].title);
	for (size_t at = 0; at < t->cells_cnt; at += t->columns_cnt)
		widen(t, t->cells + at, false, widths);
	if (t->has_total)
		widen(t, t->total, true, widths);
	if (t->title)
		buf_addf(&b, "%s\n\n", t->title);
	text_head(t, widths, &b);
	for (size_t at = 0; !rc && at < t->cells_cnt; at += t->columns_cnt) {
		text_row(t, t->cells + at, false, widths, &b);
		rc = b.len > FLUSH_SZ ? format_flush(out, &b, err) : 0;
	}
	if (t->has_total) {
		text_rule(t, widths, &b);
		text_row(t, t->total, true, widths, &b);
	}
	if (t->notes.len) {
		buf_u8(&b, '\n');
		buf_add(&b, t->notes.data, t->notes.len);
	}
	rc = rc ? rc : format_flush(out, &b, err);
	buf_free(&b);
	return rc;
}

/*
 * A code span of GitHub's Markdown inside a table: HTML in it is text, a bar needs a backslash, and
 * the fence is longer than any run of backticks in it (Crystal has a method of that name).
 */
static void code_span(const char *text, size_t n, struct buf *b)
{
	size_t longest = 0, run = 0;
	bool edge = n && (text[0] == '`' || text[n - 1] == '`');
	for (size_t i = 0; i < n; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	pad(b, longest + 1, '`');
	buf_adds(b, edge || !n ? " " : "");
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '|')
			buf_u8(b, '\\');
		buf_u8(b, (uint8_t)text[i]);
	}
	buf_adds(b, edge ? " " : "");
	pad(b, longest + 1, '`');
}

static void markdown_text(const char *text, struct buf *b)
{
	while (true) {
		size_t n = strcspn(text, "\n");
		code_span(text, n, b);
		if (!text[n])
			return;
		buf_adds(b, "<br>");
		text += n + 1;
	}
}

static void markdown_row(const struct sheet *t, const struct cell *row, const size_t *widths, struct buf *b)
{
	struct buf number = { 0 };
	buf_u8(b, '|');
	for (size_t i = 0; i < t->columns_cnt; i++) {
		buf_u8(b, ' ');
		if (is_text(&t->columns[i])) {
			markdown_text(text_of(t, &row[i]), b);
		} else {
			buf_reset(&number);
			cell_text(t, i, &row[i], false, &number);
			pad(b, widths[i] - number.len, ' ');
			buf_adds(b, buf_str(&number));
		}
		buf_adds(b, " |");
	}
	buf_u8(b, '\n');
	buf_free(&number);
}

static void markdown_head(const struct sheet *t, struct buf *b)
{
	buf_u8(b, '|');
	for (size_t i = 0; i < t->columns_cnt; i++)
		buf_addf(b, " %s |", t->columns[i].title);
	buf_adds(b, "\n|");
	for (size_t i = 0; i < t->columns_cnt; i++) {
		bool text = is_text(&t->columns[i]);
		pad(b, strlen(t->columns[i].title) + (text ? 2 : 1), '-');
		buf_adds(b, text ? "|" : ":|");
	}
	buf_u8(b, '\n');
}

static void markdown_notes(const struct sheet *t, struct buf *b)
{
	const char *at = (const char *)t->notes.data, *end = at + t->notes.len;
	buf_u8(b, '\n');
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		buf_adds(b, "- ");
		code_span(at, (size_t)((line ?: end) - at), b);
		buf_u8(b, '\n');
		at = line ? line + 1 : end;
	}
}

static int write_markdown(const struct sheet *t, struct sink_out *out, struct err *err)
{
	size_t widths[COLUMNS_MAX] = { 0 };
	struct buf b = { 0 };
	int rc = 0;
	for (size_t at = 0; at < t->cells_cnt; at += t->columns_cnt)
		widen(t, t->cells + at, false, widths);
	if (t->title)
		buf_addf(&b, "%s\n\n", t->title);
	markdown_head(t, &b);
	for (size_t at = 0; !rc && at < t->cells_cnt; at += t->columns_cnt) {
		markdown_row(t, t->cells + at, widths, &b);
		rc = b.len > FLUSH_SZ ? format_flush(out, &b, err) : 0;
	}
	if (t->notes.len)
		markdown_notes(t, &b);
	rc = rc ? rc : format_flush(out, &b, err);
	buf_free(&b);
	return rc;
}

int sheet_write(const struct sheet *t, enum report_format format, struct sink_out *out, struct err *err)
{
	static int (*const writers[])(const struct sheet *t, struct sink_out *to, struct err *e) = {
		[FORMAT_TEXT] = write_text, [FORMAT_MARKDOWN] = write_markdown, [FORMAT_TSV] = write_tsv,
		[FORMAT_JSON] = write_json, [FORMAT_CSV] = write_csv, [FORMAT_TALLY] = write_tally,
	};
	if (t->facts.failed || t->notes.failed)
		return err_set(err, ENOMEM, "out of memory for the report");
	return writers[format](t, out, err);
}

int sheet_finish(struct sheet *t, int rc, const struct report_options *o, struct sink_out *out, struct err *err)
{
	rc = rc ? rc : sheet_pick(t, o->columns, err);
	rc = rc ? rc : sheet_write(t, (enum report_format)o->format, out, err);
	sheet_free(t);
	return rc;
}
