/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/diff_table: compares two recordings; groups are matched by label. Thread and process numbers differ from run to run,
 * so grouping by them is refused.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "report/facts.h"
#include "report/group.h"
#include "report/rank.h"

struct pair {
	uint32_t label; /* id in diff.labels */
	struct group a, b;
};

struct diff {
	const struct report_options *o;
	struct groups sides[2];
	struct names labels;
	struct pair *at; /* one per label, until sorted */
	size_t at_cnt, at_cap;
	bool sampled, per_second;
};

static struct group a_second(const struct group *v, double length_s)
{
	return (struct group){ .label = v->label,
			       .cnt = v->cnt / length_s,
			       .sz = v->sz / length_s,
			       .off = { .var = spread_var(&v->off) / (length_s * length_s) },
			       .of_cnt = v->of_cnt / length_s };
}

static int take_side(struct diff *d, size_t side)
{
	struct groups *g = &d->sides[side];
	if (d->per_second)
		g->all = a_second(&g->all, g->in->length_s);
	for (size_t i = 0; i < g->at_cnt; i++) {
		const char *name = names_at(&g->labels, g->at[i].label);
		uint32_t label = names_put(&d->labels, name, strlen(name));
		struct pair *p = label == NAMES_FAILED ? NULL : label < d->at_cnt ? &d->at[label] : VEC_PUSH(d, at);
		if (!p)
			return -ENOMEM;
		p->label = label;
		*(side ? &p->b : &p->a) = d->per_second ? a_second(&g->at[i], g->in->length_s) : g->at[i];
	}
	return 0;
}

static double change(const struct pair *p)
{
	return p->b.sz - p->a.sz;
}

static double change_cnt(const struct pair *p)
{
	return p->b.cnt - p->a.cnt;
}

static const char *kind_of(const struct pair *p)
{
	if (!(p->a.cnt > 0))
		return "appeared";
	if (!(p->b.cnt > 0))
		return "went";
	double by = change(p) != 0 ? change(p) : change_cnt(p);
	return by > 0 ? "grew" : "shrank";
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct diff *d = ctx;
	const struct pair *x = a, *y = b;
	double by_size = fabs(change(y)) - fabs(change(x)), by_cnt = fabs(change_cnt(y)) - fabs(change_cnt(x));
	int by_name = strverscmp(names_at(&d->labels, x->label), names_at(&d->labels, y->label));
	double diff = d->o->sort == SORT_COUNT ? (by_cnt != 0 ? by_cnt : by_size) : by_size != 0 ? by_size : by_cnt;
	if (d->o->sort == SORT_NAME || diff == 0)
		return by_name;
	return diff < 0 ? -1 : 1;
}

/* Drops unchanged pairs, and pairs hidden by options; returns the number of the latter. */
static size_t rank(struct diff *d)
{
	size_t kept = 0, changed = 0, limit = rank_limit(d->o);
	for (size_t i = 0; i < d->at_cnt; i++) {
		const struct pair p = d->at[i];
		if (change(&p) == 0 && change_cnt(&p) == 0)
			continue;
		changed++;
		if (fabs(change(&p)) >= (double)d->o->min_bytes && fabs(change_cnt(&p)) >= (double)d->o->min_count)
			d->at[kept++] = p;
	}
	if (kept)
		qsort_r(d->at, kept, sizeof(*d->at), compare, d);
	d->at_cnt = kept < limit ? kept : limit;
	for (size_t i = 0; d->o->ascending && i < d->at_cnt / 2; i++) {
		struct pair first = d->at[i];
		d->at[i] = d->at[d->at_cnt - 1 - i];
		d->at[d->at_cnt - 1 - i] = first;
	}
	return changed - d->at_cnt;
}

static void add_columns(const struct diff *d, struct sheet *t)
{
	enum report_by by = d->sides[0].by;
	bool rate = d->per_second;
	sheet_add_column(t, rate ? "Before/s" : "Before", "before_bytes", COLUMN_BYTES);
	sheet_add_column(t, rate ? "After/s" : "After", "after_bytes", COLUMN_BYTES);
	sheet_add_column(t, rate ? "Change/s" : "Change", "change_bytes", COLUMN_CHANGE);
	if (d->sampled)
		sheet_add_column(t, "+- bytes", "error", COLUMN_BYTES);
	sheet_add_column(t, rate ? "Blocks/s" : "Blocks", "change_count", COLUMN_CHANGE);
	sheet_add_column(t, "What", "what", COLUMN_TEXT);
	sheet_add_column(t, by_title(by), by_name(by), by == BY_STACK ? COLUMN_LINES : COLUMN_TEXT);
}

static int fill(struct diff *d, const struct pair *p, const char *what, struct cell *row)
{
	uint32_t text = names_put(&d->labels, what, strlen(what));
	*row++ = (struct cell){ .number = p->a.sz };
	*row++ = (struct cell){ .number = p->b.sz };
	*row++ = (struct cell){ .number = change(p) };
	if (d->sampled)
		*row++ = (struct cell){ .number = sqrt(spread_var(&p->a.off) + spread_var(&p->b.off)) };
	*row++ = (struct cell){ .number = change_cnt(p) };
	*row++ = (struct cell){ .text = text };
	*row = (struct cell){ .text = p->label };
	return text == NAMES_FAILED ? -ENOMEM : 0;
}

static int fill_table(struct diff *d, struct sheet *t)
{
	struct pair all = { .a = d->sides[0].all, .b = d->sides[1].all };
	int rc = 0;
	t->texts = &d->labels;
	add_columns(d, t);
	for (size_t i = 0; !rc && i < d->at_cnt; i++) {
		struct cell *row = sheet_add_row(t);
		rc = row ? fill(d, &d->at[i], kind_of(&d->at[i]), row) : -ENOMEM;
	}
	t->has_total = true;
	return rc ? rc : fill(d, &all, "", t->total);
}

const char *report_diff_title(enum report_show show, bool per_second)
{
	static const char *const of[][2] = {
		[SHOW_LIVE] = { "Bytes in use at the end, before and after",
				"Bytes in use at the end per second recorded, before and after" },
		[SHOW_ALLOC] = { "Bytes allocated, before and after", "Bytes allocated per second, before and after" },
		[SHOW_PEAK] = { "Bytes in use at the highest moment, before and after",
				"Bytes in use at the highest moment per second recorded, before and after" },
		[SHOW_TEMPORARY] = { "Bytes allocated and freed at once, before and after",
				     "Bytes allocated and freed at once per second, before and after" },
		[SHOW_FREED] = { "Bytes freed, before and after", "Bytes freed per second, before and after" },
	};
	return of[show][per_second];
}

/* Runs of the same workload may differ in length by this share. */
#define ALIKE 0.05

static bool lengths_differ(double a, double b)
{
	return a > 0 && b > 0 && fabs(a - b) > ALIKE * (a > b ? a : b);
}

int report_diff_per_second(const struct report_input *a, const struct report_input *b, const struct report_options *o, bool *out,
			   struct err *err)
{
	enum report_show show = report_show_of(o, a);
	/* Memory in use is a state at one moment, so it is not divided by the length. */
	bool flows = show == SHOW_ALLOC || show == SHOW_TEMPORARY || show == SHOW_FREED;
	*out = o->per == PER_SECOND || (o->per == PER_STANDARD && flows && lengths_differ(a->length_s, b->length_s));
	if (*out && !(a->length_s > 0 && b->length_s > 0))
		return err_set(err, EINVAL, "--per second: the length of one of the recordings is unknown");
	return 0;
}

static void put_lengths(const struct diff *d, struct buf *out)
{
	const struct report_input *a = d->sides[0].in, *b = d->sides[1].in;
	if (!lengths_differ(a->length_s, b->length_s))
		return;
	buf_addf(out, "before was recorded for %.3g s, after for %.3g s: ", a->length_s, b->length_s);
	buf_adds(out, d->per_second ? "compared per second; --per recording compares the sums\n"
				    : "not compared per second; --per second does\n");
}

static void put_notes(const struct diff *d, size_t hidden, struct buf *out)
{
	put_lengths(d, out);
	if (hidden)
		buf_addf(out, "%zu more row%s hidden by --top, --min-bytes or --min-count\n", hidden, hidden == 1 ? "" : "s");
	if (!hidden && !d->at_cnt)
		buf_adds(out, "nothing differs\n");
	if (d->sampled)
		buf_adds(out, "a change of less than twice its standard error (+-) may be chance\n");
	for (size_t i = 0; i < 2; i++) {
		struct buf lines = { 0 };
		report_notes(d->sides[i].in, &lines);
		for (const char *at = buf_str(&lines); *at; at += strcspn(at, "\n") + 1)
			buf_addf(out, "%s: %.*s\n", i ? "after" : "before", (int)strcspn(at, "\n"), at);
		out->failed |= lines.failed;
		buf_free(&lines);
	}
}

static int write_diff(struct diff *d, struct sink_out *out, struct err *err)
{
	struct sheet t = { 0 };
	size_t hidden = rank(d);
	int rc = fill_table(d, &t) ? err_set(err, ENOMEM, "out of memory for the comparison") : 0;
	t.title = report_diff_title(d->sides[0].show, d->per_second);
	put_notes(d, hidden, &t.notes);
	buf_addf(&t.facts, "\"by\":\"%s\",\"title\":\"%s\",\"per_second\":%s,\"sampled\":%s,\"hidden\":%zu,",
		 by_name(d->sides[0].by), t.title, d->per_second ? "true" : "false", d->sampled ? "true" : "false", hidden);
	return sheet_finish(&t, rc, d->o, out, err);
}

static int check_options(const struct report_options *o, struct err *err)
{
	if (o->by == BY_THREAD || o->by == BY_ERLANG_PROCESS || o->by == BY_PROCESS || o->by == BY_TIME)
		return err_set(err, EINVAL, "diff cannot use --by %s: two runs have none in common", by_name(o->by));
	if (o->show == SHOW_LEAKED)
		return err_set(err, EINVAL, "diff cannot --show leaked: live is what both recordings end with");
	if (o->sort == SORT_GROWTH)
		return err_set(err, EINVAL, "--sort growth is for report --show leaked");
	return 0;
}

int report_diff(const struct report_input *a, const struct report_input *b, const struct report_options *o, struct sink_out *out,
		struct err *err)
{
	struct diff d = { .o = o, .sampled = a->snapshot->facts.sampled || b->snapshot->facts.sampled };
	int rc = check_options(o, err);
	if (!rc)
		rc = groups_fill_side(&d.sides[0], a, o, err);
	if (!rc)
		rc = groups_fill_side(&d.sides[1], b, o, err);
	if (!rc && d.sides[0].show != d.sides[1].show)
		rc = err_set(err, EINVAL, "one of the recordings does not contain frees: compare with --show alloc");
	if (!rc)
		rc = report_diff_per_second(a, b, o, &d.per_second, err);
	if (!rc && (take_side(&d, 0) || take_side(&d, 1)))
		rc = err_set(err, ENOMEM, "out of memory for the comparison");
	if (!rc)
		rc = write_diff(&d, out, err);
	groups_free(&d.sides[0]);
	groups_free(&d.sides[1]);
	names_free(&d.labels);
	free(d.at);
	return rc;
}
