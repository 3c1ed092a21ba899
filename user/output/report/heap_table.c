/* SPDX-License-Identifier: Apache-2.0 */
/* report/heap_table: see heap_table.h. */
#include "report/heap_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/format.h"
#include "report/rank.h"
#include "report/sheet.h"

static double part(double of, double all)
{
	return all > 0 ? 100 * of / all : 0;
}

static void put_text_fact(struct buf *out, const char *key, const char *text)
{
	buf_addf(out, "\"%s\":", key);
	text_json(out, text);
	buf_u8(out, ',');
}

void put_heap_facts(const struct census_facts *f, const char *report, struct sheet *s)
{
	put_text_fact(&s->facts, "report", report);
	buf_addf(&s->facts, "\"pid\":%u,", f->tgid);
	put_text_fact(&s->facts, "command", f->command);
	put_text_fact(&s->facts, f->allocator ? "library" : "collector", f->collector);
	put_text_fact(&s->facts, "layout", f->layout);
	if (f->allocator) {
		put_text_fact(&s->facts, "allocator", f->allocator);
		buf_adds(&s->facts, f->more);
	} else {
		buf_addf(&s->facts, "\"collection\":%" PRIu64 ",\"upper_bound\":%s,", f->gc_no,
			 f->upper_bound ? "true" : "false");
	}
	buf_addf(&s->facts, "\"took_ms\":%.3f,", f->took_ms);
	buf_adds(&s->notes, f->notes);
}

static uint32_t put_name(struct names *names, const char *text)
{
	return names_put(names, text, strlen(text));
}

/* --- types -------------------------------------------------------------------------------------- */

static int descending(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_types(const void *a, const void *b, void *options)
{
	const struct report_options *o = options;
	const struct type_row *x = a, *y = b;
	int named = strverscmp(x->name, y->name), diff = 0;
	if (o->sort == SORT_COUNT)
		diff = descending(x->cnt, y->cnt);
	if (o->sort != SORT_NAME) {
		diff = diff ?: descending(x->bytes, y->bytes);
		diff = diff ?: descending(x->cnt, y->cnt);
	}
	diff = diff ?: named;
	return o->ascending ? -diff : diff;
}

/* Drops rows hidden by options, smallest first; returns their number. */
static size_t rank_types(struct type_table *t, const struct report_options *o)
{
	struct report_options top_first = *o;
	size_t kept = 0, all = t->rows_cnt, limit = rank_limit(o);
	top_first.ascending = false;
	for (size_t i = 0; i < all; i++) {
		if (t->rows[i].bytes >= (double)o->min_bytes && t->rows[i].cnt >= (double)o->min_count)
			t->rows[kept++] = t->rows[i];
	}
	if (kept)
		qsort_r(t->rows, kept, sizeof(*t->rows), compare_types, &top_first);
	t->rows_cnt = kept < limit ? kept : limit;
	if (o->ascending && t->rows_cnt)
		qsort_r(t->rows, t->rows_cnt, sizeof(*t->rows), compare_types, (void *)o);
	return all - t->rows_cnt;
}

static int add_type(const struct type_table *t, const struct type_row *r, struct sheet *s)
{
	struct cell *row = sheet_add_row(s);
	if (!row)
		return -ENOMEM;
	row[0].number = r->cnt;
	row[1].number = r->bytes;
	row[2].number = part(r->bytes, t->bytes);
	row[3].number = r->cnt > 0 ? r->bytes / r->cnt : 0;
	row[4].text = put_name(s->texts, r->known);
	row[5].text = put_name(s->texts, r->name);
	return row[4].text == NAMES_FAILED || row[5].text == NAMES_FAILED ? -ENOMEM : 0;
}

int report_types(struct type_table *t, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct names names = { 0 };
	struct sheet s = { .texts = &names, .has_total = true };
	size_t hidden = rank_types(t, o);
	int rc = 0;
	sheet_add_column(&s, "Objects", "count", COLUMN_COUNT);
	sheet_add_column(&s, "Bytes", "bytes", COLUMN_BYTES);
	sheet_add_column(&s, "%", "percent", COLUMN_PERCENT);
	sheet_add_column(&s, "Average", "average", COLUMN_BYTES);
	sheet_add_column(&s, "Name from", "known", COLUMN_TEXT);
	sheet_add_column(&s, "Type", "type", COLUMN_TEXT);
	for (size_t i = 0; !rc && i < t->rows_cnt; i++)
		rc = add_type(t, &t->rows[i], &s);
	s.total[0].number = t->cnt;
	s.total[1].number = t->bytes;
	s.total[2].number = 100;
	s.total[3].number = t->cnt > 0 ? t->bytes / t->cnt : 0;
	if (hidden)
		buf_addf(&s.notes, "%zu more types are not shown: see --top, --min-bytes, --min-count\n", hidden);
	put_heap_facts(&t->facts, "census", &s);
	buf_addf(&s.facts, "\"doubtful\":%.0f,\"doubtful_bytes\":%.0f,", t->doubtful, t->doubtful_bytes);
	rc = sheet_finish(&s, rc ? err_set(err, ENOMEM, "out of memory for the report") : 0, o, out, err);
	names_free(&names);
	return rc;
}

int report_type_lines(struct type_table *t, bool bytes, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct buf b = { 0 };
	size_t lines = 0;
	rank_types(t, o);
	for (size_t i = 0; i < t->rows_cnt; i++)
		lines += t->rows[i].is_type;
	buf_addf(&b, "%zu\n", lines);
	for (size_t i = 0; i < t->rows_cnt; i++) {
		if (t->rows[i].is_type)
			buf_addf(&b, "%.0f\t%s\n", bytes ? t->rows[i].bytes : t->rows[i].cnt, t->rows[i].name);
	}
	int rc = format_flush(out, &b, err);
	buf_free(&b);
	return rc;
}

/* --- accounts ----------------------------------------------------------------------------------- */

static int add_class(const struct account_table *t, const struct class_row *r, struct sheet *s)
{
	struct cell *row = sheet_add_row(s);
	char size[32] = "large";
	if (!row)
		return -ENOMEM;
	if (r->size > 0)
		snprintf(size, sizeof(size), "%.0f", r->size);
	row[0].number = r->blocks;
	row[1].number = r->block_bytes;
	row[2].number = part(r->block_bytes, t->heap);
	row[3].number = r->live;
	row[4].number = r->live_bytes;
	row[5].number = part(r->live_bytes, r->block_bytes);
	row[6].number = r->slots - r->live;
	row[7].number = r->sparse_blocks;
	row[8].text = put_name(s->texts, r->kind);
	row[9].text = put_name(s->texts, size);
	return row[8].text == NAMES_FAILED || row[9].text == NAMES_FAILED ? -ENOMEM : 0;
}

static int fill_classes(const struct account_table *t, struct sheet *s)
{
	int rc = 0;
	sheet_add_column(s, "Blocks", "blocks", COLUMN_COUNT);
	sheet_add_column(s, "Bytes", "bytes", COLUMN_BYTES);
	sheet_add_column(s, "% of heap", "percent", COLUMN_PERCENT);
	sheet_add_column(s, "Live", "live", COLUMN_COUNT);
	sheet_add_column(s, "Live bytes", "live_bytes", COLUMN_BYTES);
	sheet_add_column(s, "% live", "percent_live", COLUMN_PERCENT);
	sheet_add_column(s, "Unused slots", "unused", COLUMN_COUNT);
	sheet_add_column(s, "Under 1/4 live", "sparse", COLUMN_COUNT);
	sheet_add_column(s, "Kind", "kind", COLUMN_TEXT);
	sheet_add_column(s, "Object size", "size", COLUMN_TEXT);
	for (size_t i = 0; !rc && i < t->rows_cnt; i++) {
		const struct class_row *r = &t->rows[i];
		rc = add_class(t, r, s);
		s->total[0].number += r->blocks;
		s->total[1].number += r->block_bytes;
		s->total[3].number += r->live;
		s->total[4].number += r->live_bytes;
		s->total[6].number += r->slots - r->live;
		s->total[7].number += r->sparse_blocks;
	}
	s->total[2].number = part(s->total[1].number, t->heap);
	s->total[5].number = part(s->total[4].number, s->total[1].number);
	return rc;
}

struct account_line {
	double bytes;
	const char *key, *text;
};

#define ACCOUNT_LINES 6

static void account_lines(const struct account_table *t, struct account_line *out)
{
	const struct account_line lines[ACCOUNT_LINES] = {
		{ t->rss, "rss", "resident memory of the process (RSS)" },
		{ t->heap, "heap", "the collector's heap" },
		{ t->live, "live", "  live: marked by the last collection" },
		{ t->slack, "slack", "  in blocks in use, but not live: dead, free or younger slots, block ends" },
		{ t->free, "free", "  free blocks" },
		{ t->unmapped, "unmapped", "  free blocks given back to the system" },
	};
	memcpy(out, lines, sizeof(lines));
}

static int put_accounts(const struct account_table *t, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct names names = { 0 };
	struct sheet s = { .texts = &names };
	struct account_line lines[ACCOUNT_LINES];
	int rc = 0;
	account_lines(t, lines);
	sheet_add_column(&s, "Bytes", "bytes", COLUMN_BYTES);
	sheet_add_column(&s, "% of heap", "percent", COLUMN_PERCENT);
	sheet_add_column(&s, "What", "what", COLUMN_TEXT);
	for (size_t i = 0; !rc && i < ACCOUNT_LINES; i++) {
		struct cell *row = lines[i].bytes > 0 || i ? sheet_add_row(&s) : NULL;
		if (!row) {
			rc = i ? -ENOMEM : 0;
			continue;
		}
		row[0].number = lines[i].bytes;
		row[1].number = part(lines[i].bytes, t->heap);
		row[2].text = put_name(&names, lines[i].text);
	}
	rc = rc ? err_set(err, ENOMEM, "out of memory for the report") : sheet_write(&s, (enum report_format)o->format, out, err);
	sheet_free(&s);
	names_free(&names);
	return rc ?: out->write(out->ctx, "\n", 1);
}

int report_accounts(struct account_table *t, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct names names = { 0 };
	struct sheet s = { .texts = &names, .has_total = true };
	struct account_line lines[ACCOUNT_LINES];
	bool people = o->format == FORMAT_TEXT || o->format == FORMAT_MARKDOWN;
	int rc = people ? put_accounts(t, o, out, err) : 0;
	account_lines(t, lines);
	for (size_t i = 0; i < ACCOUNT_LINES; i++)
		buf_addf(&s.facts, "\"%s_bytes\":%.0f,", lines[i].key, lines[i].bytes);
	buf_addf(&s.facts, "\"largest_free_bytes\":%.0f,\"pinned_blocks\":%.0f,\"pinned_live_bytes\":%.0f,", t->largest_free,
		 t->pinned_blocks, t->pinned_bytes);
	if (t->pinned_blocks > 0)
		buf_addf(&s.notes,
			 "%.0f blocks (%.0f bytes) are kept by objects of %.0f bytes in all: at most a tenth of their slots are "
			 "live\n",
			 t->pinned_blocks, t->pinned_blocks * 4096, t->pinned_bytes);
	put_heap_facts(&t->facts, "heap", &s);
	if (!rc && fill_classes(t, &s))
		rc = err_set(err, ENOMEM, "out of memory for the report");
	rc = sheet_finish(&s, rc, o, out, err);
	names_free(&names);
	return rc;
}
