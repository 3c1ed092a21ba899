/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/writers: machine-readable formats, and the choice of the format for a sheet; see writers.h. Texts are cleaned
 * already: they contain no control characters except newlines that we put there.
 */
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "format/format.h"

static void put_number(enum column_kind kind, double n, struct buf *b)
{
	if (isnan(n))
		return;
	if (kind == COLUMN_PERCENT || kind == COLUMN_RATIO || kind == COLUMN_SECONDS)
		number_text(b, kind, n);
	else
		buf_addf(b, "%" PRId64, number_whole(n));
}

static void tsv_cell(const struct sheet *t, size_t i, const struct cell *c, struct buf *b)
{
	if (!column_is_text(t->columns[i].kind)) {
		put_number(t->columns[i].kind, c->number, b);
		return;
	}
	for (const char *p = names_at(t->texts, c->text); *p; p++)
		buf_u8(b, *p == '\n' ? '\t' : (uint8_t)*p);
}

static void csv_cell(const struct sheet *t, size_t i, const struct cell *c, struct buf *b)
{
	if (!column_is_text(t->columns[i].kind)) {
		put_number(t->columns[i].kind, c->number, b);
		return;
	}
	const char *text = names_at(t->texts, c->text);
	buf_u8(b, '"');
	if (*text && strchr("=+-@", *text))
		buf_u8(b, '\'');
	for (; *text; text++) {
		if (*text == '"')
			buf_u8(b, '"');
		buf_u8(b, (uint8_t)*text);
	}
	buf_u8(b, '"');
}

static void json_lines(const char *text, struct buf *b)
{
	char sign = '[';
	for (size_t n; true; text += n + 1, sign = ',') {
		struct buf line = { 0 };
		n = strcspn(text, "\n");
		buf_add(&line, text, n);
		buf_u8(b, (uint8_t)sign);
		text_json(b, buf_str(&line));
		b->failed |= line.failed;
		buf_free(&line);
		if (!text[n])
			break;
	}
	buf_u8(b, ']');
}

static void json_cell(const struct sheet *t, size_t i, const struct cell *c, struct buf *b)
{
	enum column_kind kind = t->columns[i].kind;
	buf_addf(b, "\"%s\":", t->columns[i].key);
	if (kind == COLUMN_LINES)
		json_lines(names_at(t->texts, c->text), b);
	else if (kind == COLUMN_TEXT)
		text_json(b, names_at(t->texts, c->text));
	else if (isnan(c->number))
		buf_adds(b, "null");
	else
		put_number(kind, c->number, b);
}

struct style {
	const char *begin, *between, *end, *row_between;
	void (*cell)(const struct sheet *t, size_t i, const struct cell *c, struct buf *b);
};

static int put_rows(const struct sheet *t, const struct style *s, struct buf *b, struct sink_out *out, struct err *err)
{
	int rc = 0;
	for (size_t at = 0; !rc && at < t->cells_cnt; at += t->columns_cnt) {
		buf_adds(b, at ? s->row_between : "");
		buf_adds(b, s->begin);
		for (size_t i = 0; i < t->columns_cnt; i++) {
			buf_adds(b, i ? s->between : "");
			s->cell(t, i, &t->cells[at + i], b);
		}
		buf_adds(b, s->end);
		rc = b->len > WRITER_FLUSH_SZ ? format_flush(out, b, err) : 0;
	}
	return rc;
}

static int finish(struct buf *b, int rc, struct sink_out *out, struct err *err)
{
	rc = rc ? rc : format_flush(out, b, err);
	buf_free(b);
	return rc;
}

int write_tsv(const struct sheet *t, struct sink_out *out, struct err *err)
{
	static const struct style style = { "", "\t", "\n", "", tsv_cell };
	struct buf b = { 0 };
	buf_addf(&b, "%zu\n", t->columns_cnt ? t->cells_cnt / t->columns_cnt : 0);
	return finish(&b, put_rows(t, &style, &b, out, err), out, err);
}

int write_csv(const struct sheet *t, struct sink_out *out, struct err *err)
{
	static const struct style style = { "", ",", "\n", "", csv_cell };
	struct buf b = { 0 };
	for (size_t i = 0; i < t->columns_cnt; i++)
		buf_addf(&b, "%s%s", i ? "," : "", t->columns[i].key);
	buf_u8(&b, '\n');
	return finish(&b, put_rows(t, &style, &b, out, err), out, err);
}

int write_tally(const struct sheet *t, struct sink_out *out, struct err *err)
{
	struct buf b = { 0 };
	size_t name = t->columns_cnt, number = t->columns_cnt;
	int rc = 0;
	for (size_t i = 0; i < t->columns_cnt; i++) {
		if (column_is_text(t->columns[i].kind))
			name = i;
		else if (number == t->columns_cnt)
			number = i;
	}
	if (name == t->columns_cnt || number == t->columns_cnt)
		return err_set(err, EINVAL, "-f tally wants a column of names and one of numbers: see --columns");
	for (size_t at = 0; !rc && at < t->cells_cnt; at += t->columns_cnt) {
		if (isnan(t->cells[at + number].number))
			continue;
		for (const char *p = names_at(t->texts, t->cells[at + name].text); *p; p++)
			buf_u8(&b, *p == '\n' ? ';' : (uint8_t)*p);
		buf_adds(&b, ": ");
		put_number(t->columns[number].kind, t->cells[at + number].number, &b);
		buf_u8(&b, '\n');
		rc = b.len > WRITER_FLUSH_SZ ? format_flush(out, &b, err) : 0;
	}
	return finish(&b, rc, out, err);
}

static void json_total(const struct sheet *t, struct buf *b)
{
	bool first = true;
	buf_adds(b, "\n],\n\"total\":{");
	for (size_t i = 0; i < t->columns_cnt; i++) {
		if (column_is_text(t->columns[i].kind))
			continue;
		buf_adds(b, first ? "" : ",");
		json_cell(t, i, &t->total[i], b);
		first = false;
	}
	buf_u8(b, '}');
}

static void json_notes(const struct sheet *t, struct buf *b)
{
	struct buf notes = { 0 };
	size_t n = t->notes.len;
	/* Written like the lines of a stack, which have no newline at the end. */
	buf_add(&notes, t->notes.data, n ? n - 1 : 0);
	buf_adds(b, ",\n\"notes\":");
	if (n)
		json_lines(buf_str(&notes), b);
	else
		buf_adds(b, "[]");
	b->failed |= notes.failed;
	buf_free(&notes);
}

int write_json(const struct sheet *t, struct sink_out *out, struct err *err)
{
	static const struct style style = { "{", ",", "}", ",\n", json_cell };
	struct buf b = { 0 };
	buf_u8(&b, '{');
	buf_add(&b, t->facts.data, t->facts.len);
	buf_adds(&b, "\n\"rows\":[\n");
	int rc = put_rows(t, &style, &b, out, err);
	if (t->has_total)
		json_total(t, &b);
	else
		buf_adds(&b, "\n]");
	json_notes(t, &b);
	buf_adds(&b, "\n}\n");
	return finish(&b, rc, out, err);
}

int sheet_write(const struct sheet *t, enum report_format format, struct sink_out *out, struct err *err)
{
	static int (*const writers[])(const struct sheet *t, struct sink_out *to, struct err *e) = {
		[FORMAT_TEXT] = write_text, [FORMAT_MARKDOWN] = write_markdown, [FORMAT_TSV] = write_tsv,
		[FORMAT_JSON] = write_json, [FORMAT_CSV] = write_csv,           [FORMAT_TALLY] = write_tally,
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
