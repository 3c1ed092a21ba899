/* SPDX-License-Identifier: Apache-2.0 */
/* report/textual: writes sheets as text and Markdown; see writers.h. */
#include <string.h>

#include "format/format.h"
#include "report/writers.h"

static const char *text_of(const struct sheet *t, const struct cell *c)
{
	return names_at(t->texts, c->text);
}

/* Counts code points: wide characters take two columns, but are rare in names. */
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

/* Text of a cell. In the total row, percentages have a percent sign. */
static void cell_text(const struct sheet *t, size_t column, const struct cell *c, bool total, struct buf *out)
{
	const struct column *of = &t->columns[column];
	if (column_is_text(of->kind)) {
		buf_adds(out, total ? (column ? "[total]" : "Total:") : text_of(t, c));
		return;
	}
	if (isnan(c->number)) {
		buf_u8(out, '-');
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

/* One line, plus one for each further frame of a stack. No trailing blanks. */
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
		if (!column_is_text(t->columns[i].kind))
			pad(b, room, ' ');
		for (; *text; text++) {
			buf_u8(b, (uint8_t)*text);
			if (*text == '\n')
				pad(b, left, ' ');
		}
		if (column_is_text(t->columns[i].kind) && !last)
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
		pad(b, column_is_text(t->columns[i].kind) ? 0 : room, ' ');
		buf_adds(b, t->columns[i].title);
		pad(b, column_is_text(t->columns[i].kind) && i + 1 < t->columns_cnt ? room : 0, ' ');
		buf_adds(b, ratio ? "]" : "");
	}
	buf_u8(b, '\n');
}

static void text_rule(const struct sheet *t, const size_t *widths, struct buf *b)
{
	for (size_t i = 0; i < t->columns_cnt; i++) {
		bool ratio = t->columns[i].kind == COLUMN_RATIO;
		size_t n = widths[i];
		/* The last column may be very wide: a separator of its full width would wrap. */
		if (i && i + 1 == t->columns_cnt && column_is_text(t->columns[i].kind))
			n = strlen("[total]");
		buf_adds(b, i ? "  " : "");
		buf_adds(b, ratio ? "[" : "");
		pad(b, n, '-');
		buf_adds(b, ratio ? "]" : "");
	}
	buf_u8(b, '\n');
}

int write_text(const struct sheet *t, struct sink_out *out, struct err *err)
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
		rc = b.len > WRITER_FLUSH_SZ ? format_flush(out, &b, err) : 0;
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
 * A code span of GitHub's Markdown within a table: HTML is shown as text, a bar needs a backslash, and the fence must
 * be longer than any run of backticks inside (Crystal has a method of that name).
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
		if (column_is_text(t->columns[i].kind)) {
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
		bool text = column_is_text(t->columns[i].kind);
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

int write_markdown(const struct sheet *t, struct sink_out *out, struct err *err)
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
		rc = b.len > WRITER_FLUSH_SZ ? format_flush(out, &b, err) : 0;
	}
	if (t->notes.len)
		markdown_notes(t, &b);
	rc = rc ? rc : format_flush(out, &b, err);
	buf_free(&b);
	return rc;
}
