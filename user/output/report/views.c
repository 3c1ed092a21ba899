/* SPDX-License-Identifier: Apache-2.0 */
/* report/views: shows groups as tables: chooses columns, rows and their order. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/heapful_notes.h"
#include "report/facts.h"
#include "report/group.h"
#include "report/rank.h"
#include "report/sheet.h"
#include "report/timeview.h"

static const char *show_name(enum report_show show)
{
	static const char *const names[] = { "live", "alloc", "peak", "temporary", "leaked", "freed" };
	return names[show];
}

/* Columns of a view, and how a row is filled in. */
struct view {
	void (*columns)(const struct groups *g, struct sheet *t);
	int (*fill)(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row);
};

static bool has_error(const struct groups *g)
{
	const struct heap_facts *f = &g->in->snapshot->facts;
	return f->sampled || (f->heapfuls && g->show == SHOW_ALLOC);
}

static bool has_all_stacks(const struct groups *g)
{
	const struct report_options *o = g->o;
	return !o->focus && !o->ignore && !o->type && !o->callers && !o->callees;
}

/* Are the rows' bytes those of the total, which is all there is? */
static bool is_whole(const struct groups *g)
{
	return has_all_stacks(g) && !g->o->pid;
}

/* What an Erlang process allocated is known as well as the total: where in it is another question. */
static double error_of(const struct groups *g, const struct group *v)
{
	bool whole = g->by == BY_ERLANG_PROCESS ? has_all_stacks(g) : v == &g->all && is_whole(g);
	return sqrt(whole ? spread_var_of_all(&v->off) : spread_var(&v->off));
}

static double part(double of, double all)
{
	return all > 0 ? 100 * of / all : 0;
}

static void add_key(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, by_title(g->by), by_name(g->by), g->by == BY_STACK ? COLUMN_LINES : COLUMN_TEXT);
}

/* Several pages may come at one touch. */
static double count_of(const struct groups *g, const struct group *v)
{
	return catalog_subject(g->in->catalog) == SUBJECT_PAGES ? v->sz / FORMAT_PAGE_SZ : v->cnt;
}

static void add_bytes(const struct groups *g, struct sheet *t, const char *title)
{
	sheet_add_column(t, title, "bytes", COLUMN_BYTES);
	if (has_error(g))
		sheet_add_column(t, "+- bytes", "error", COLUMN_BYTES);
}

/* Bytes, and their error if they are estimated. */
static struct cell *put_bytes(const struct groups *g, const struct group *v, struct cell *row)
{
	*row++ = (struct cell){ .number = v->sz };
	if (has_error(g))
		*row++ = (struct cell){ .number = error_of(g, v) };
	return row;
}

static void plain_columns(const struct groups *g, struct sheet *t)
{
	static const char *const titles[] = {
		[SUBJECT_ALLOCATIONS] = "Allocations", [SUBJECT_PAGES] = "Pages", [SUBJECT_MAPPINGS] = "Mappings"
	};
	sheet_add_column(t, titles[catalog_subject(g->in->catalog)], "count", COLUMN_COUNT);
	add_bytes(g, t, "Total size");
	if (g->by != BY_STACK)
		sheet_add_column(t, "%", "percent", COLUMN_PERCENT);
	add_key(g, t);
}

static int plain_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	(void)t;
	*row++ = (struct cell){ .number = count_of(g, v) };
	row = put_bytes(g, v, row);
	if (g->by != BY_STACK)
		*row++ = (struct cell){ .number = part(v->sz, g->all.sz) };
	*row = (struct cell){ .text = v->label };
	return 0;
}

static void function_columns(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, "FUNCTION", "function", COLUMN_TEXT);
	bool pages = catalog_subject(g->in->catalog) == SUBJECT_PAGES;
	sheet_add_column(t, pages ? "PAGES" : "CALLS", "count", COLUMN_DIGITS);
	sheet_add_column(t, "%", "percent", COLUMN_PERCENT);
	sheet_add_column(t, "BYTES", "bytes", COLUMN_DIGITS);
	if (has_error(g))
		sheet_add_column(t, "+- BYTES", "error", COLUMN_DIGITS);
	if (!pages)
		sheet_add_column(t, "PER CALL", "per_call", COLUMN_RATIO);
}

/* Of the Erlang VM: its unit is the word, and its samples are no calls. */
#define BEAM_WORD_SZ 8

static void beam_columns(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, g->by == BY_FUNCTION ? "FUNCTION" : "ERLANG PROCESS", by_name(g->by), COLUMN_TEXT);
	sheet_add_column(t, "SAMPLES", "count", COLUMN_DIGITS);
	sheet_add_column(t, "%", "percent", COLUMN_PERCENT);
	sheet_add_column(t, "+- %", "percent_error", COLUMN_PERCENT);
	sheet_add_column(t, "WORDS", "words", COLUMN_DIGITS);
	sheet_add_column(t, "BYTES", "bytes", COLUMN_DIGITS);
}

static int beam_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	(void)t;
	*row++ = (struct cell){ .text = v->label };
	*row++ = (struct cell){ .number = v->cnt };
	*row++ = (struct cell){ .number = part(v->sz, g->all.sz) };
	*row++ = (struct cell){ .number = part(error_of(g, v), g->all.sz) };
	*row++ = (struct cell){ .number = v->sz / BEAM_WORD_SZ };
	*row = (struct cell){ .number = v->sz };
	return 0;
}

static int function_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	(void)t;
	*row++ = (struct cell){ .text = v->label };
	*row++ = (struct cell){ .number = count_of(g, v) };
	*row++ = (struct cell){ .number = part(v->sz, g->all.sz) };
	row = put_bytes(g, v, row);
	if (catalog_subject(g->in->catalog) != SUBJECT_PAGES)
		*row = (struct cell){ .number = v->cnt > 0 ? v->sz / v->cnt : 0 };
	return 0;
}

/* The same with calls of the functions themselves, in place of allocations in them. */
static void call_columns(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, "FUNCTION", "function", COLUMN_TEXT);
	sheet_add_column(t, "CALLS", "calls", COLUMN_DIGITS);
	sheet_add_column(t, "%", "percent", COLUMN_PERCENT);
	sheet_add_column(t, "BYTES", "bytes", COLUMN_DIGITS);
	if (has_error(g))
		sheet_add_column(t, "+- BYTES", "error", COLUMN_DIGITS);
	sheet_add_column(t, "PER CALL", "per_call", COLUMN_RATIO);
	if (has_error(g))
		sheet_add_column(t, "+- PER CALL", "per_call_error", COLUMN_RATIO);
	sheet_add_column(t, "ALLOCATIONS", "count", COLUMN_DIGITS);
}

/* Bytes of the total may be also those of functions whose calls are not known. */
static double per_call(const struct groups *g, const struct group *v, double of)
{
	return v->has_calls && v->calls > 0 && (v != &g->all || g->all_called) ? of / v->calls : CELL_NONE;
}

static int call_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	(void)t;
	*row++ = (struct cell){ .text = v->label };
	*row++ = (struct cell){ .number = v->has_calls ? v->calls : CELL_NONE };
	*row++ = (struct cell){ .number = part(v->sz, g->all.sz) };
	row = put_bytes(g, v, row);
	*row++ = (struct cell){ .number = per_call(g, v, v->sz) };
	if (has_error(g))
		*row++ = (struct cell){ .number = per_call(g, v, error_of(g, v)) };
	*row = (struct cell){ .number = v->cnt };
	return 0;
}

static void temporary_columns(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, "Temporary", "count", COLUMN_COUNT);
	sheet_add_column(t, "Total size", "bytes", COLUMN_BYTES);
	sheet_add_column(t, "Allocations", "allocations", COLUMN_COUNT);
	sheet_add_column(t, "% temporary", "percent", COLUMN_PERCENT);
	add_key(g, t);
}

static int temporary_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	(void)g, (void)t;
	*row++ = (struct cell){ .number = v->cnt };
	*row++ = (struct cell){ .number = v->sz };
	*row++ = (struct cell){ .number = v->of_cnt };
	*row++ = (struct cell){ .number = part(v->cnt, v->of_cnt) };
	*row = (struct cell){ .text = v->label };
	return 0;
}

static void leaked_columns(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, "Blocks", "count", COLUMN_COUNT);
	add_bytes(g, t, "Bytes");
	sheet_add_column(t, "Growth", "growth", COLUMN_CHANGE);
	if (has_error(g))
		sheet_add_column(t, "+- growth", "growth_error", COLUMN_BYTES);
	sheet_add_column(t, "% steady", "steady", COLUMN_PERCENT);
	sheet_add_column(t, "Oldest s", "oldest", COLUMN_SECONDS);
	sheet_add_column(t, "Ages", "ages", COLUMN_TEXT);
	add_key(g, t);
}

static uint32_t put_ages(const double ages[AGE_CNT], struct names *texts)
{
	struct buf b = { 0 };
	ages_text(ages, &b);
	uint32_t text = b.failed ? NAMES_FAILED : names_put(texts, b.data, b.len);
	buf_free(&b);
	return text;
}

static int leaked_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	const struct growth_row *r = &g->growth[v->label];
	uint64_t now = g->in->snapshot->facts.last_ns;
	uint32_t text = put_ages(r->ages, t->texts);
	*row++ = (struct cell){ .number = v->cnt };
	row = put_bytes(g, v, row);
	*row++ = (struct cell){ .number = growth_row_gained(r) };
	if (has_error(g))
		*row++ = (struct cell){ .number = sqrt(r->gained_var) };
	*row++ = (struct cell){ .number = 100 * growth_row_steadiness(r) };
	*row++ = (struct cell){ .number = r->oldest_ns && now > r->oldest_ns ? (double)(now - r->oldest_ns) / 1e9 : 0 };
	*row++ = (struct cell){ .text = text };
	*row = (struct cell){ .text = v->label };
	return text == NAMES_FAILED ? -ENOMEM : 0;
}

static void freed_columns(const struct groups *g, struct sheet *t)
{
	sheet_add_column(t, "Freed", "count", COLUMN_COUNT);
	add_bytes(g, t, "Total size");
	sheet_add_column(t, "Mean life s", "life", COLUMN_SECONDS);
	sheet_add_column(t, "Lives", "lives", COLUMN_TEXT);
	sheet_add_column(t, "By realloc", "moved", COLUMN_COUNT);
	sheet_add_column(t, "Bytes moved", "moved_bytes", COLUMN_BYTES);
	add_key(g, t);
}

static int freed_fill(const struct groups *g, const struct group *v, struct sheet *t, struct cell *row)
{
	const struct lifetime_row *r = &g->lives[v->label];
	uint32_t text = put_ages(r->lives, t->texts);
	*row++ = (struct cell){ .number = v->cnt };
	row = put_bytes(g, v, row);
	*row++ = (struct cell){ .number = r->freed_cnt > 0 ? r->life_ns / r->freed_cnt / 1e9 : 0 };
	*row++ = (struct cell){ .text = text };
	*row++ = (struct cell){ .number = r->moved_cnt };
	*row++ = (struct cell){ .number = r->moved_sz };
	*row = (struct cell){ .text = v->label };
	return text == NAMES_FAILED ? -ENOMEM : 0;
}

static const struct view *view_of(const struct groups *g)
{
	static const struct view plain = { plain_columns, plain_fill };
	static const struct view function = { function_columns, function_fill };
	static const struct view call = { call_columns, call_fill };
	static const struct view beam = { beam_columns, beam_fill };
	static const struct view temporary = { temporary_columns, temporary_fill };
	static const struct view leaked = { leaked_columns, leaked_fill };
	static const struct view freed = { freed_columns, freed_fill };
	if (g->show == SHOW_TEMPORARY)
		return &temporary;
	if (g->show == SHOW_LEAKED)
		return &leaked;
	if (g->show == SHOW_FREED)
		return &freed;
	if (g->counts_calls)
		return &call;
	if ((g->by == BY_FUNCTION || g->by == BY_ERLANG_PROCESS) && format_all_heapfuls(g->in->snapshot))
		return &beam;
	return g->by == BY_FUNCTION ? &function : &plain;
}

static int fill_table(struct groups *g, struct sheet *t)
{
	const struct view *view = view_of(g);
	int rc = 0;
	t->texts = &g->labels;
	view->columns(g, t);
	for (size_t i = 0; !rc && i < g->at_cnt; i++) {
		struct cell *row = sheet_add_row(t);
		rc = row ? view->fill(g, &g->at[i], t, row) : -ENOMEM;
	}
	/* Totals of ages and the like are meaningless. */
	t->has_total = g->show < SHOW_LEAKED;
	return rc || !t->has_total ? rc : view->fill(g, &g->all, t, t->total);
}

static void put_exit_note(const struct groups *g, struct buf *out)
{
	uint64_t n = g->in->snapshot->facts.ended_live;
	if (g->show != SHOW_LEAKED || !n)
		return;
	text_count(out, n);
	buf_addf(out, " block%s live when the process ended: that alone is no leak, steady growth is one\n",
		 n == 1 ? " was" : "s were");
}

static void put_error_note(const struct groups *g, struct buf *out)
{
	double error = error_of(g, &g->all);
	buf_adds(out, "standard error of the total: ");
	text_count(out, (uint64_t)llround(error));
	buf_addf(out, " bytes (%.1f %%)\n", part(error, g->all.sz));
	if (g->show == SHOW_PEAK)
		buf_adds(out, "the peak is where the estimate was highest: chance adds to it more often than it takes from it\n");
}

static void put_growth_note(const struct groups *g, struct buf *out)
{
	bool grew = false;
	if (g->show != SHOW_LEAKED)
		return;
	for (size_t i = 0; i < g->growth_cnt; i++)
		grew |= growth_row_gained(&g->growth[i]) > 0;
	if (!grew)
		buf_adds(out, "nothing grew: these blocks were in use at the end, but none is a suspect\n");
	else if (has_error(g))
		buf_adds(out, "growth of less than twice its standard error (+-) may be chance\n");
}

static bool has_young(const struct groups *g)
{
	return g->in->snapshot->young_ns != UINT64_MAX;
}

static void put_young_note(const struct groups *g, struct buf *out)
{
	put_left_out(g->in, g->young.cnt, g->young.sz, sqrt(spread_var(&g->young.off)), out);
	buf_adds(out, " (--older-than)");
}

static void put_young(const struct groups *g, struct sheet *t)
{
	enum report_format format = (enum report_format)g->o->format;
	bool has_notes = format == FORMAT_TEXT || format == FORMAT_MARKDOWN || format == FORMAT_JSON;
	if (!has_young(g))
		return;
	put_young_note(g, &t->notes);
	buf_u8(&t->notes, '\n');
	buf_addf(&t->facts, "\"left_out\":{\"count\":%.0f,\"bytes\":%.0f,\"error\":%.0f},", g->young.cnt, g->young.sz,
		 sqrt(spread_var(&g->young.off)));
	if (!has_notes && g->in->aside)
		put_young_note(g, g->in->aside);
}

/* Objects from before the recording have no stack and no time to filter by. */
static bool counts_before(const struct groups *g)
{
	const struct report_options *o = g->o;
	return g->show == SHOW_LIVE && !g->in->part && !o->focus && !o->ignore && !o->type && !o->callers && !o->callees &&
	       !o->pid;
}

static void put_before_types(const struct catalog *c, struct buf *out)
{
	size_t n;
	struct before_row *rows = format_before_rows(c, &n);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",{\"type\":" : "{\"type\":");
		text_json(out, rows[i].type);
		buf_addf(out, ",\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", rows[i].cnt, rows[i].sz);
	}
	free(rows);
}

static void put_before(const struct groups *g, struct sheet *t)
{
	struct before b;
	if (!counts_before(g) || !format_before(g->in->catalog, &b))
		return;
	format_before_note(g->in->catalog, &t->notes);
	buf_addf(&t->facts,
		 "\"before\":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"maybe_free_count\":%" PRIu64
		 ",\"maybe_free_bytes\":%" PRIu64 ",\"heaps_not_counted\":%" PRIu64 ",\"types\":[",
		 b.cnt, b.sz, b.empty, b.empty_sz, b.heaps);
	put_before_types(g->in->catalog, &t->facts);
	buf_adds(&t->facts, "]},");
}

static void put_calls_note(const struct groups *g, struct buf *out)
{
	if (!g->counts_calls)
		return;
	if (g->in->part)
		buf_adds(out, "calls were counted over the whole recording: of a part they are not known\n");
	else if (!g->calls.of_cnt)
		buf_adds(out, "no call of a function that --calls chose was seen\n");
	else
		buf_adds(out, "CALLS are entries of the functions that --calls chose; - is one that it did not\n");
	if (g->calls.unnamed)
		buf_adds(out, "functions have no names yet, so their bytes are not found: report with --symbolize BINARY\n");
	calls_inlined_note(g->in->catalog, out);
}

static void put_inlined(const struct groups *g, struct buf *out)
{
	struct inlined_copies f;
	const char *between = "";
	if (!g->counts_calls)
		return;
	buf_adds(out, "\"inlined\":[");
	for (size_t at = 0; calls_next_inlined(g->in->catalog, &at, &f); between = ",") {
		buf_addf(out, "%s{\"function\":", between);
		text_json(out, f.name);
		buf_addf(out, ",\"copies\":%" PRIu64 "}", f.n);
	}
	buf_adds(out, "],");
}

static void put_unsampled(const struct groups *g, struct sheet *t)
{
	struct unsampled u;
	if (format_unsampled(g->in->catalog, &u))
		buf_addf(&t->facts,
			 "\"not_sampled\":{\"count_at_most\":%" PRIu64 ",\"bytes_at_most\":%" PRIu64
			 ",\"collections_since\":%" PRIu64 ",\"heaps_not_counted\":%" PRIu64 "},",
			 u.cnt, u.sz, u.since, u.heaps);
}

static void put_notes(const struct groups *g, size_t hidden, struct buf *out)
{
	const struct snapshot *s = g->in->snapshot;
	if (hidden) {
		text_count(out, hidden);
		buf_addf(out, " more row%s hidden by --top, --min-bytes or --min-count\n", hidden == 1 ? "" : "s");
	}
	if (g->show == SHOW_PEAK) {
		uint64_t at = s->peak_ns > g->in->start_ns ? s->peak_ns - g->in->start_ns : 0;
		buf_adds(out, "peak of the whole heap: ");
		text_bytes(out, s->peak_sz);
		buf_addf(out, " at %.3f s\n", (double)at / 1e9);
	}
	if (g->show == SHOW_TEMPORARY && format_min_size(g->in->catalog))
		buf_adds(out, "temporary is an upper bound: the next allocation of the thread may have been one that was not "
			      "recorded\n");
	put_calls_note(g, out);
	put_growth_note(g, out);
	put_exit_note(g, out);
	if (g->in->snapshot->facts.sampled)
		put_error_note(g, out);
	report_notes(g->in, out);
}

/* For each stack: its count, a line, its frames. */
static int write_callstacks(const struct groups *g, struct sink_out *out, struct err *err)
{
	struct buf b = { 0 };
	buf_addf(&b, "All callstacks: %" PRId64 "\n", (int64_t)llround(g->all.cnt));
	for (size_t i = 0; i < g->at_cnt; i++)
		buf_addf(&b, "%" PRId64 " times:\n========================================\n%s\n", (int64_t)llround(g->at[i].cnt),
			 names_at(&g->labels, g->at[i].label));
	if (g->in->snapshot->facts.sampled) {
		buf_u8(&b, '\n');
		report_notes(g->in, &b);
	}
	if (has_young(g)) {
		buf_u8(&b, '\n');
		put_young_note(g, &b);
		buf_u8(&b, '\n');
	}
	int rc = format_flush(out, &b, err);
	buf_free(&b);
	return rc;
}

static int write_groups(struct groups *g, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct sheet t = { 0 };
	size_t hidden = rank_groups(g);
	if (o->type && g->by == BY_STACK && o->format == FORMAT_TEXT && !o->columns)
		return write_callstacks(g, out, err);
	int rc = fill_table(g, &t) ? err_set(err, ENOMEM, "out of memory for the report") : 0;
	put_facts(g->in, by_name(g->by), show_name(g->show), &t.facts);
	put_young(g, &t);
	put_before(g, &t);
	put_unsampled(g, &t);
	put_inlined(g, &t.facts);
	put_notes(g, hidden, &t.notes);
	buf_addf(&t.facts, "\"hidden\":%zu,", hidden);
	return sheet_finish(&t, rc, o, out, err);
}

/* Options that the chosen view does not use are refused, not ignored. */
static int check_options(const struct report_options *o, struct err *err)
{
	enum report_by by = report_by_of(o);
	bool relative = o->callers || o->callees;
	if (o->callers && o->callees)
		return err_set(err, EINVAL, "--callers and --callees exclude each other: use two reports");
	if ((relative || o->inclusive) && by != BY_FUNCTION)
		return err_set(err, EINVAL, "--inclusive, --callers and --callees are for --by function");
	if (relative && o->inclusive)
		return err_set(err, EINVAL, "--callers and --callees are inclusive already");
	if (by == BY_TIME && (o->focus || o->ignore || o->type || o->pid || o->show < SHOW_STANDARD))
		return err_set(err, EINVAL,
			       "--by time is about the whole heap: it takes no --show, --focus, --ignore, --type and -p");
	if (by == BY_TIME && (o->sort != SORT_STANDARD || o->ascending))
		return err_set(err, EINVAL, "--by time is in order of time: it takes no --sort and --ascending");
	if (o->sort == SORT_GROWTH && o->show != SHOW_LEAKED)
		return err_set(err, EINVAL, "--sort growth is for --show leaked");
	return 0;
}

int report_render(const struct report_input *in, const struct report_options *o, struct sink_out *out, struct err *err)
{
	struct groups g = { 0 };
	int rc = check_options(o, err);
	if (rc)
		return rc;
	if (report_by_of(o) == BY_TIME)
		return write_times(in, o, out, err);
	rc = groups_fill_called(&g, in, o, err);
	if (!rc)
		rc = write_groups(&g, o, out, err);
	groups_free(&g);
	return rc;
}
