/* SPDX-License-Identifier: Apache-2.0 */
/* report/timeview: see timeview.h. */
#include "report/facts.h"
#include "report/timeview.h"

#include <errno.h>
#include <math.h>

#include "report/rank.h"

/* Slices merged into one row, to stay within the requested number of rows. */
static size_t slices_a_row(const struct timeline *t, const struct report_options *o)
{
	size_t limit = rank_limit(o);
	return limit < t->n ? (t->n + limit - 1) / limit : 1;
}

static void add_slice(struct time_slice *to, const struct time_slice *s)
{
	to->alloc_cnt += s->alloc_cnt;
	to->alloc_sz += s->alloc_sz;
	to->freed_cnt += s->freed_cnt;
	to->freed_sz += s->freed_sz;
	to->live_cnt = s->live_cnt;
	to->live_sz = s->live_sz;
	to->live_var = s->live_var;
	to->peak_sz = s->peak_sz > to->peak_sz ? s->peak_sz : to->peak_sz;
}

static void fill(struct cell *row, bool sampled, double seconds, const struct time_slice *s)
{
	const double cells[] = { s->peak_sz, s->alloc_cnt, s->alloc_sz, s->freed_cnt, s->freed_sz };
	*row++ = (struct cell){ .number = seconds };
	*row++ = (struct cell){ .number = s->live_cnt };
	*row++ = (struct cell){ .number = s->live_sz };
	if (sampled)
		*row++ = (struct cell){ .number = sqrt(s->live_var) };
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		row[i] = (struct cell){ .number = cells[i] };
}

static int fill_times(const struct report_input *in, const struct report_options *o, struct sheet *t)
{
	const struct timeline *line = &in->snapshot->timeline;
	size_t step = slices_a_row(line, o);
	bool sampled = in->snapshot->facts.sampled;
	struct time_slice all = { 0 };
	for (size_t i = 0; i < line->n; i += step) {
		struct time_slice sum = { 0 };
		struct cell *row = sheet_add_row(t);
		double ns = (double)line->first_ns - (double)in->start_ns + (double)i * (double)line->slice_ns;
		if (!row)
			return -ENOMEM;
		for (size_t k = i; k < line->n && k < i + step; k++)
			add_slice(&sum, &line->at[k]);
		add_slice(&all, &sum);
		fill(row, sampled, ns / 1e9, &sum);
	}
	fill(t->total, sampled, (double)line->n * (double)line->slice_ns / 1e9, &all);
	t->has_total = true;
	return 0;
}

int write_times(const struct report_input *in, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct sheet t = { 0 };
	if (!in->snapshot->timeline.n)
		return report_refuse_empty(in, err);
	sheet_add_column(&t, "From s", "time", COLUMN_SECONDS);
	sheet_add_column(&t, "Live", "live_count", COLUMN_COUNT);
	sheet_add_column(&t, "Live bytes", "live_bytes", COLUMN_BYTES);
	if (in->snapshot->facts.sampled)
		sheet_add_column(&t, "+- live bytes", "live_error", COLUMN_BYTES);
	sheet_add_column(&t, "Peak bytes", "peak_bytes", COLUMN_BYTES);
	sheet_add_column(&t, "Allocated", "alloc_count", COLUMN_COUNT);
	sheet_add_column(&t, "Allocated bytes", "alloc_bytes", COLUMN_BYTES);
	sheet_add_column(&t, "Freed", "freed_count", COLUMN_COUNT);
	sheet_add_column(&t, "Freed bytes", "freed_bytes", COLUMN_BYTES);
	int rc = fill_times(in, o, &t) ? err_set(err, ENOMEM, "out of memory for the report") : 0;
	report_notes(in, &t.notes);
	put_facts(in, by_name(BY_TIME), "live", &t.facts);
	return sheet_finish(&t, rc, o, out, err);
}
