/* SPDX-License-Identifier: Apache-2.0 */
/* report/malloc_table: see malloc_table.h. */
#include "report/malloc_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/rank.h"
#include "report/sheet.h"

static double part(double of, double all)
{
	return all > 0 ? 100 * of / all : 0;
}

/* --- where memory is ------------------------------------------------------------------------------ */

static int add_line(const struct memory_lines *t, const struct memory_line *l, struct sheet *s)
{
	struct cell *row = sheet_add_row(s);
	if (!row)
		return -ENOMEM;
	row[0].number = l->resident;
	row[1].number = part(l->resident, t->rss);
	row[2].number = l->bytes > 0 ? l->bytes : l->resident;
	row[3].number = l->cnt > 0 ? l->cnt : 0;
	row[4].text = names_put(s->texts, l->text, strlen(l->text));
	return row[4].text == NAMES_FAILED ? -ENOMEM : 0;
}

static int put_lines(const struct memory_lines *t, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct names names = { 0 };
	struct sheet s = { .texts = &names };
	int rc = 0;
	sheet_add_column(&s, "Resident", "resident", COLUMN_BYTES);
	sheet_add_column(&s, "% of RSS", "percent", COLUMN_PERCENT);
	sheet_add_column(&s, "Bytes", "bytes", COLUMN_BYTES);
	sheet_add_column(&s, t->counted, t->counted_key, COLUMN_COUNT);
	sheet_add_column(&s, "What", "what", COLUMN_TEXT);
	for (size_t i = 0; !rc && i < t->cnt; i++)
		rc = add_line(t, &t->all[i], &s);
	rc = rc ? err_set(err, ENOMEM, "out of memory for the report") : sheet_write(&s, (enum report_format)o->format, out, err);
	sheet_free(&s);
	names_free(&names);
	return rc ?: out->write(out->ctx, "\n", 1);
}

static void put_facts(const struct memory_lines *t, struct sheet *s)
{
	for (size_t i = 0; i < t->cnt; i++) {
		const struct memory_line *l = &t->all[i];
		buf_addf(&s->facts, "\"%s_resident\":%.0f,", l->key, l->resident);
	}
}

/* --- by size -------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b, void *options)
{
	const struct report_options *o = options;
	const struct size_row *x = a, *y = b;
	double all[] = { x->used_bytes + x->free_bytes, y->used_bytes + y->free_bytes };
	int diff = o->sort == SORT_COUNT ? (x->used < y->used) - (x->used > y->used) : 0;
	if (o->sort != SORT_NAME)
		diff = diff ?: (all[0] < all[1]) - (all[0] > all[1]);
	diff = diff ?: strverscmp(x->name, y->name);
	return o->ascending ? -diff : diff;
}

/* Drops what options hide; gives how many. They are the caller's to free: those stand behind the others. */
static size_t rank(struct malloc_table *t, const struct report_options *o)
{
	size_t limit = rank_limit(o), all = t->rows_cnt, kept = 0;
	if (all)
		qsort_r(t->rows, all, sizeof(*t->rows), compare, (void *)o);
	while (kept < all && kept < limit && t->rows[kept].used_bytes + t->rows[kept].free_bytes >= (double)o->min_bytes)
		kept++;
	t->rows_cnt = kept;
	return all - kept;
}

#define NUMBERS 6

static void add_to(const struct size_row *r, struct cell *to)
{
	const double numbers[NUMBERS] = { r->used, r->used_bytes, r->tcache, r->fastbin, r->bins, r->free_bytes };
	for (size_t i = 0; i < NUMBERS; i++)
		to[i].number += numbers[i];
}

static int add_size(const struct size_row *r, struct sheet *s)
{
	struct cell *row = sheet_add_row(s);
	if (!row)
		return -ENOMEM;
	add_to(r, row);
	row[NUMBERS].text = names_put(s->texts, r->name, strlen(r->name));
	return row[NUMBERS].text == NAMES_FAILED ? -ENOMEM : 0;
}

static int fill_sizes(void *table, const struct report_options *o, struct sheet *s)
{
	struct malloc_table *t = table;
	int rc = 0;
	sheet_add_column(s, "In use", "used", COLUMN_COUNT);
	sheet_add_column(s, "Bytes", "used_bytes", COLUMN_BYTES);
	sheet_add_column(s, "In tcache", "tcache", COLUMN_COUNT);
	sheet_add_column(s, "Fastbins", "fastbin", COLUMN_COUNT);
	sheet_add_column(s, "Bins", "bins", COLUMN_COUNT);
	sheet_add_column(s, "Free bytes", "free_bytes", COLUMN_BYTES);
	sheet_add_column(s, "Size", "size", COLUMN_TEXT);
	for (size_t i = 0; i < t->rows_cnt; i++)
		add_to(&t->rows[i], s->total);
	size_t hidden = rank(t, o);
	for (size_t i = 0; !rc && i < t->rows_cnt; i++)
		rc = add_size(&t->rows[i], s);
	if (hidden)
		buf_addf(&s->notes, "%zu more sizes are not shown: see --top, --min-bytes\n", hidden);
	return rc;
}

/* --- by mapping ----------------------------------------------------------------------------------- */

static int compare_mappings(const void *a, const void *b, void *options)
{
	const struct report_options *o = options;
	const struct mapping_row *x = a, *y = b;
	int diff = o->sort == SORT_COUNT ? (x->blocks < y->blocks) - (x->blocks > y->blocks) : 0;
	if (o->sort != SORT_NAME)
		diff = diff ?: (x->resident < y->resident) - (x->resident > y->resident);
	diff = diff ?: strcmp(x->name, y->name);
	return o->ascending ? -diff : diff;
}

static size_t rank_mappings(struct mapping_table *t, const struct report_options *o)
{
	size_t limit = rank_limit(o), all = t->rows_cnt, kept = 0;
	if (all)
		qsort_r(t->rows, all, sizeof(*t->rows), compare_mappings, (void *)o);
	while (kept < all && kept < limit && t->rows[kept].resident >= (double)o->min_bytes)
		kept++;
	t->rows_cnt = kept;
	return all - kept;
}

#define MAPPING_NUMBERS 5

static size_t mapping_numbers(const struct mapping_table *t)
{
	return t->recorded ? MAPPING_NUMBERS : MAPPING_NUMBERS - 2;
}

static void add_mapping_to(const struct mapping_row *r, size_t cnt, struct cell *to)
{
	const double numbers[MAPPING_NUMBERS] = { r->resident, r->mapped, r->huge, r->blocks, r->block_bytes };
	for (size_t i = 0; i < cnt; i++)
		to[i].number += numbers[i];
}

static int add_mapping(const struct mapping_row *r, size_t cnt, struct sheet *s)
{
	struct cell *row = sheet_add_row(s);
	if (!row)
		return -ENOMEM;
	add_mapping_to(r, cnt, row);
	row[cnt].text = names_put(s->texts, r->name, strlen(r->name));
	return row[cnt].text == NAMES_FAILED ? -ENOMEM : 0;
}

static int fill_mappings(void *table, const struct report_options *o, struct sheet *s)
{
	struct mapping_table *t = table;
	int rc = 0;
	sheet_add_column(s, "Resident", "resident", COLUMN_BYTES);
	sheet_add_column(s, "Mapped", "mapped", COLUMN_BYTES);
	sheet_add_column(s, "Huge pages", "huge", COLUMN_BYTES);
	if (t->recorded) {
		sheet_add_column(s, "Recorded", "recorded", COLUMN_COUNT);
		sheet_add_column(s, "Bytes", "recorded_bytes", COLUMN_BYTES);
	}
	sheet_add_column(s, "Anonymous mapping", "mapping", COLUMN_TEXT);
	for (size_t i = 0; i < t->rows_cnt; i++)
		add_mapping_to(&t->rows[i], mapping_numbers(t), s->total);
	size_t hidden = rank_mappings(t, o);
	for (size_t i = 0; !rc && i < t->rows_cnt; i++)
		rc = add_mapping(&t->rows[i], mapping_numbers(t), s);
	if (hidden)
		buf_addf(&s->notes, "%zu more mappings are not shown: see --top, --min-bytes\n", hidden);
	return rc;
}

/* --- both ----------------------------------------------------------------------------------------- */

typedef int (*fill_fn)(void *table, const struct report_options *o, struct sheet *s);

static int write_both(const struct memory_lines *memory, fill_fn fill, void *table, const struct census_facts *facts,
		      const char *report, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct names names = { 0 };
	struct sheet s = { .texts = &names, .has_total = true };
	bool people = o->format == FORMAT_TEXT || o->format == FORMAT_MARKDOWN;
	int rc = people ? put_lines(memory, o, out, err) : 0;
	put_facts(memory, &s);
	if (!rc && fill(table, o, &s))
		rc = err_set(err, ENOMEM, "out of memory for the report");
	put_heap_facts(facts, report, &s);
	rc = sheet_finish(&s, rc, o, out, err);
	names_free(&names);
	return rc;
}

int report_malloc(struct malloc_table *t, const struct report_options *o, struct sink_out *out, struct err *err)
{
	return write_both(&t->memory, fill_sizes, t, &t->facts, "malloc", o, out, err);
}

int report_mappings(struct mapping_table *t, const struct report_options *o, struct sink_out *out, struct err *err)
{
	return write_both(&t->memory, fill_mappings, t, &t->facts, "mappings", o, out, err);
}
