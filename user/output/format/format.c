/* SPDX-License-Identifier: Apache-2.0 */
/* format: see format.h. */
#include "format/format.h"
#include "format/heapful_notes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalog/exactness.h"

#define BEFORE_SHOWN 5 /* types listed below a table */

const struct value_type value_types[VALUE_CNT] = {
	[VALUE_ALLOC_OBJECTS] = { "alloc_objects", "count", "Allocated objects" },
	[VALUE_ALLOC_SPACE] = { "alloc_space", "bytes", "Allocated bytes" },
	[VALUE_INUSE_OBJECTS] = { "inuse_objects", "count", "Objects in use" },
	[VALUE_INUSE_SPACE] = { "inuse_space", "bytes", "Bytes in use" },
};

static const struct value_type resident_types[VALUE_CNT] = {
	[VALUE_ALLOC_OBJECTS] = { "touched_pages", "count", "Pages touched first" },
	[VALUE_ALLOC_SPACE] = { "touched_space", "bytes", "Bytes touched first" },
	[VALUE_INUSE_OBJECTS] = { "rss_pages", "count", "Resident pages" },
	[VALUE_INUSE_SPACE] = { "rss_space", "bytes", "Resident bytes" },
};

static const struct value_type mapping_types[VALUE_CNT] = {
	[VALUE_ALLOC_OBJECTS] = { "mapped_count", "count", "Calls that mapped" },
	[VALUE_ALLOC_SPACE] = { "mapped_space", "bytes", "Bytes that were mapped" },
	[VALUE_INUSE_OBJECTS] = { "map_count", "count", "Mappings" },
	[VALUE_INUSE_SPACE] = { "map_space", "bytes", "Bytes mapped" },
};

enum value value_standard(const struct sink_input *in)
{
	return format_all_heapfuls(in->snapshot) ? VALUE_ALLOC_SPACE : VALUE_INUSE_SPACE;
}

int value_choose(const struct sink_options *o, enum value standard, enum value *out, struct err *err)
{
	*out = standard;
	if (!o->value)
		return 0;
	for (*out = 0; *out < VALUE_CNT; (*out)++) {
		if (!strcmp(value_types[*out].name, o->value))
			return 0;
	}
	return err_set(err, EINVAL,
		       "unknown value '%.40s': use alloc_objects, alloc_space, inuse_objects or "
		       "inuse_space",
		       o->value);
}

int64_t value_of(const struct totals *t, enum value v)
{
	const double of[VALUE_CNT] = { t->est_alloc_cnt, t->est_alloc_sz, t->est_live_cnt, t->est_live_sz };
	double d = of[v];
	if (!(d > 0)) /* also true for NaN */
		return 0;
	return d >= 0x1p63 ? INT64_MAX : (int64_t)llround(d);
}

const struct value_type *format_value_types(const struct catalog *c)
{
	static const struct value_type *const types[] = {
		[SUBJECT_ALLOCATIONS] = value_types, [SUBJECT_PAGES] = resident_types, [SUBJECT_MAPPINGS] = mapping_types
	};
	return types[catalog_subject(c)];
}

/* Several pages may come at one touch. */
bool format_values(const struct catalog *c, const struct totals *t, int64_t values[VALUE_CNT])
{
	int64_t any = 0;
	for (enum value v = 0; v < VALUE_CNT; v++)
		any |= values[v] = value_of(t, v);
	if (catalog_subject(c) == SUBJECT_PAGES) {
		values[VALUE_ALLOC_OBJECTS] = values[VALUE_ALLOC_SPACE] / FORMAT_PAGE_SZ;
		values[VALUE_INUSE_OBJECTS] = values[VALUE_INUSE_SPACE] / FORMAT_PAGE_SZ;
	}
	return any;
}

int64_t value_add(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void value_text(struct buf *out, enum value v, int64_t n)
{
	if (v == VALUE_ALLOC_SPACE || v == VALUE_INUSE_SPACE)
		text_bytes(out, (double)n);
	else
		text_count(out, (uint64_t)n);
}

int format_flush(struct sink_out *out, struct buf *b, struct err *err)
{
	if (b->failed)
		return err_set(err, ENOMEM, "out of memory while writing the output");
	int rc = b->len ? out->write(out->ctx, b->data, b->len) : 0;
	buf_reset(b);
	if (rc && err && !err->code)
		err_set(err, abs(rc), "writing the output: %s", strerror(abs(rc)));
	return rc;
}

uint64_t format_interval(const struct catalog *c)
{
	const char *sample = catalog_meta(c, "sample"), *of_pages = catalog_meta(c, "page_sample");
	if (catalog_subject(c) == SUBJECT_PAGES && of_pages)
		sample = of_pages;
	if (catalog_subject(c) == SUBJECT_MAPPINGS || !sample || strncmp(sample, "bytes:", 6))
		return 0;
	return strtoull(sample + 6, NULL, 10);
}

static uint64_t meta_number(const struct catalog *c, const char *key)
{
	const char *text = catalog_meta(c, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

uint64_t format_min_size(const struct catalog *c)
{
	return meta_number(c, "min_size");
}

uint64_t format_start_ns(const struct sink_input *in)
{
	uint64_t start = meta_number(in->catalog, "start_mono_ns");
	return in->options->from_ns > start ? in->options->from_ns : start;
}

uint64_t format_end_ns(const struct sink_input *in)
{
	uint64_t end = meta_number(in->catalog, "end_mono_ns"), until = in->options->until_ns;
	return until && (!end || until < end) ? until : end;
}

bool format_allocations_only(const struct catalog *c)
{
	const char *profile = catalog_meta(c, "profile");
	return profile && !strcmp(profile, "allocations");
}

bool format_unseen_frees(const struct catalog *c)
{
	return exactness_state_of(c) == EXACTNESS_NONE || format_allocations_only(c);
}

bool format_bounded(const struct catalog *c)
{
	return exactness_state_of(c) >= EXACTNESS_BOUND;
}

static void add_exact(const struct catalog *c, struct buf *out)
{
	const char *part = exactness_part_of(c);
	buf_addf(out, "what the garbage collector freed%s%s is recorded, up to its last collection\n", *part ? " of " : "", part);
}

static void add_liveness(const struct catalog *c, struct buf *out)
{
	struct buf reason = { 0 };
	enum exactness_state state = exactness_state_of(c);
	if (state == EXACTNESS_EXACT)
		add_exact(c, out);
	if (state < EXACTNESS_BOUND)
		return;
	exactness_reason_of(c, &reason);
	buf_addf(out, "in-use is an upper bound: %s%s%s\n",
		 state == EXACTNESS_NONE ? "what the garbage collector freed was not recorded"
					 : "not all that the garbage collector freed was seen",
		 reason.len ? ": " : "", buf_str(&reason));
	buf_free(&reason);
}

bool format_upper_bound(const struct sink_input *in)
{
	return in->snapshot->facts.lost_frees || format_bounded(in->catalog);
}

double format_below(const struct catalog *c, const struct totals *t)
{
	/* The number of skipped calls is not known per process, only in total. */
	bool some = catalog_count(c, "unsampled") || catalog_meta(c, "whole_ledger");
	return t->live_cnt || !some || (format_allocations_only(c) && t->alloc_cnt) ? 0 : unsampled_below(format_interval(c));
}

void format_none_sampled(double below, struct buf *out)
{
	buf_adds(out, "none sampled: below ");
	text_bytes(out, below);
	buf_adds(out, " with 95 % confidence");
}

static void add_below(const struct sink_input *in, struct buf *out)
{
	const struct totals *t = &in->snapshot->all;
	double below = format_below(in->catalog, t);
	if (!below)
		return;
	buf_addf(out, "%s: ", t->alloc_cnt ? "in use" : "allocated");
	format_none_sampled(below, out);
	buf_u8(out, '\n');
}

/* Standard errors cover sampling only, not losses. Lost frees are reported elsewhere. */
static void add_lost(const struct sink_input *in, struct buf *out)
{
	const struct catalog *c = in->catalog;
	uint64_t lost = catalog_sum(c, COUNT_LOST) - catalog_count(c, "ring-full-free"), recorded = in->snapshot->all.alloc_cnt;
	if (!lost || !in->snapshot->facts.sampled)
		return;
	buf_addf(out,
		 "estimates are too low, and their errors do not tell it: up to %" PRIu64
		 " sampled allocations were lost beside %" PRIu64 " recorded (%.2f %%)\n",
		 lost, recorded, 100.0 * (double)lost / ((double)lost + (double)recorded));
}

const char *format_windows(const struct catalog *c)
{
	const char *windows = catalog_meta(c, "windows");
	return windows && strncmp(windows, "100 %", 5) != 0 ? windows : NULL;
}

static void add_windows(const struct catalog *c, struct buf *out)
{
	if (!format_windows(c))
		return;
	buf_adds(out, "probes were in for windows of time, to spare the programs: ");
	text_clean(out, format_windows(c), SIZE_MAX);
	buf_u8(out, '\n');
}

/* Of what is resident, the rows have what was touched in the recording and is still there. */
static void add_resident(const struct sink_input *in, struct buf *out)
{
	const struct catalog *c = in->catalog;
	const char *both = catalog_meta(c, "of_process") ? NULL : catalog_meta(c, "resident");
	char *next = NULL;
	uint64_t start = both ? strtoull(both, &next, 10) : 0, end = next ? strtoull(next, NULL, 10) : 0;
	double rows = in->snapshot->all.est_live_sz, nowhere = (double)catalog_count(c, "pages-no-place") * FORMAT_PAGE_SZ;
	buf_adds(out, "became resident: ");
	text_bytes(out, in->snapshot->all.est_alloc_sz + nowhere);
	buf_adds(out, ", in no row of these ");
	text_bytes(out, nowhere);
	buf_adds(out, " that the kernel brought in by itself");
	if (both) {
		buf_adds(out, "; resident when the recording began ");
		text_bytes(out, (double)start);
	}
	if (end) {
		buf_adds(out, ", when it ended ");
		text_bytes(out, (double)end);
		buf_adds(out, " (smaps_rollup)");
	}
	if (end && !in->options->until_ns && !in->options->from_ns) {
		buf_adds(out, ": ");
		text_bytes(out, rows < (double)end ? (double)end - rows : 0);
		buf_adds(out, " of it in no row, older than the recording or the kernel's doing");
	}
	buf_u8(out, '\n');
	const char *swept = catalog_meta(c, "resident_swept");
	if (swept)
		buf_addf(out,
			 "%" PRIu64 " recorded touches were of pages that had left unheard, reclaimed or moved, and were found "
			 "gone at the end\n",
			 (uint64_t)strtoull(swept, NULL, 10));
}

/* The rows have what calls in the recording mapped. Of ended processes nothing more is known. */
static void add_mapped(const struct sink_input *in, struct buf *out)
{
	static const char *const words[] = { "mapped when the recording ended: ", " (VmSize), of these ",
					     " [before the recording] or when a program started, in no row, and ",
					     " by no recorded call, in no row: a stack that grew, shmat\n" };
	const char *at = catalog_meta(in->catalog, "mapped"), *swept = catalog_meta(in->catalog, "mapped_swept");
	if (catalog_meta(in->catalog, "of_process") || !at || !strtoull(at, NULL, 10))
		return;
	char *next = NULL;
	for (size_t i = 0; i < 3; i++, at = next) {
		buf_adds(out, words[i]);
		text_bytes(out, (double)strtoull(at, &next, 10));
	}
	buf_adds(out, words[3]);
	if (swept) {
		text_bytes(out, (double)strtoull(swept, NULL, 10));
		buf_adds(out, " had been unmapped unheard, and were found gone at the end\n");
	}
}

/* With --allocator usdt,all some processes drew their samples themselves. */
static void add_samples(const struct sink_input *in, struct buf *out)
{
	bool resident = catalog_subject(in->catalog) == SUBJECT_PAGES;
	uint64_t interval = format_interval(in->catalog);
	if (!in->snapshot->facts.sampled || (resident && interval <= 1))
		return;
	if (!interval) {
		buf_adds(out, "estimated from samples that programs took themselves, with their weights; of other programs "
			      "each call is recorded\n");
		return;
	}
	buf_addf(out, "estimated from samples, one per %" PRIu64 " bytes on average", interval);
	if (resident)
		buf_adds(out, " where pages come fast; the others are recorded one by one");
	else if (catalog_meta(in->catalog, "noted"))
		buf_adds(out, "; those that programs took themselves have weights of their own");
	buf_u8(out, '\n');
}

static void add_sampling(const struct sink_input *in, struct buf *out)
{
	bool resident = catalog_subject(in->catalog) == SUBJECT_PAGES;
	const char *sample = catalog_meta(in->catalog, "sample");
	if (sample && !strcmp(sample, "program"))
		buf_adds(out, in->snapshot->facts.sampled
				      ? "estimated from samples that the program took itself, with its weights\n"
				      : "as the program reported it by its own probes\n");
	else
		add_samples(in, out);
	if (resident)
		add_resident(in, out);
	if (catalog_subject(in->catalog) == SUBJECT_MAPPINGS)
		add_mapped(in, out);
}

/* Whose profile this is, with the ledger. */
static void add_subject(const struct catalog *c, struct buf *out)
{
	static const struct {
		const char *key, *words;
	} lines[] = {
		{ "whole_ledger", "of all processes, since tracing began: " },
		{ "of_process", "of process " },
		{ "ended", "last profile of the process: " },
		{ "census", "census: " },
	};
	catalog_ledger_text(c, out);
	buf_u8(out, '\n');
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *text = catalog_meta(c, lines[i].key);
		if (!text)
			continue;
		buf_adds(out, lines[i].words);
		text_clean(out, text, SIZE_MAX);
		buf_u8(out, '\n');
	}
}

/* What is not in the numbers. */
static void add_limits(const struct sink_input *in, struct buf *out)
{
	const struct heap_facts *facts = &in->snapshot->facts;
	uint64_t least = format_min_size(in->catalog);
	if (least)
		buf_addf(out, "allocations of less than %" PRIu64 " bytes were not recorded\n", least);
	if (facts->lost_frees)
		buf_addf(out, "in-use is an upper bound: %" PRIu64 " %s lost\n", facts->lost_frees,
			 facts->lost_frees == 1 ? "free was" : "frees were");
	if (facts->carried && catalog_subject(in->catalog) == SUBJECT_ALLOCATIONS)
		buf_addf(out, "%" PRIu64 " %s in use when the trace began, and not among the allocations\n", facts->carried,
			 facts->carried == 1 ? "block was" : "blocks were");
	uint64_t most = meta_number(in->catalog, "stacks_max");
	if (most)
		buf_addf(out, "at most %" PRIu64 " stacks are told apart, all others are in [no stack]\n", most);
}

static void add_gap(const struct catalog *c, struct buf *out)
{
	struct buf gap = { 0 };
	format_gap(c, &gap);
	if (gap.len)
		buf_addf(out, "not sampled: %s\n", buf_str(&gap));
	buf_free(&gap);
}

void format_notes(const struct sink_input *in, struct buf *out)
{
	add_subject(in->catalog, out);
	add_sampling(in, out);
	format_heapfuls(in, out);
	add_windows(in->catalog, out);
	if (format_allocations_only(in->catalog))
		buf_adds(out,
			 "frees were not recorded (--profile allocations): in use is what collectors have, and nothing else\n");
	add_lost(in, out);
	add_below(in, out);
	add_limits(in, out);
	add_liveness(in->catalog, out);
	const char *at = catalog_meta(in->catalog, "sample_at");
	if (at && !strcmp(at, "refill"))
		buf_adds(out, "libgc was sampled where its free lists are filled: a stack is that of the allocation that "
			      "found one empty, small sizes are those of blocks, GC_free is not recorded\n");
	add_gap(in->catalog, out);
}

bool format_unsampled(const struct catalog *c, struct unsampled *out)
{
	*out = (struct unsampled){
		.cnt = catalog_count(c, "marked-all"),
		.sz = catalog_count(c, "marked-all-bytes"),
		.since = catalog_count(c, "collections-since"),
		.heaps = catalog_count(c, "heaps-not-read"),
	};
	return catalog_meta(c, "sample_gap") != NULL;
}

void format_gap(const struct catalog *c, struct buf *out)
{
	struct unsampled u;
	const char *missed = catalog_meta(c, "window_gap");
	if (missed)
		text_clean(out, missed, SIZE_MAX);
	if (!format_unsampled(c, &u))
		return;
	text_clean(out, catalog_meta(c, "sample_gap"), SIZE_MAX);
	if (!u.cnt) {
		buf_adds(out, "; how many is not known, the marks of no collection were all read");
		return;
	}
	buf_adds(out, "; at most ");
	text_count(out, u.cnt);
	buf_addf(out, " object%s, ", u.cnt == 1 ? "" : "s");
	text_count(out, u.sz);
	buf_adds(out,
		 " bytes of them, for that is what the last collection whose marks were all read had marked, sampled or not");
	if (u.since)
		buf_addf(out, " (%" PRIu64 " collection%s since)", u.since, u.since == 1 ? "" : "s");
	if (u.heaps)
		buf_addf(out, "; of %" PRIu64 " more collected heap%s that is not known", u.heaps, u.heaps == 1 ? "" : "s");
}

bool format_before(const struct catalog *c, struct before *out)
{
	*out = (struct before){
		.cnt = catalog_count(c, "marked-older"),
		.sz = catalog_count(c, "marked-older-bytes"),
		.empty = catalog_count(c, "marked-older-empty"),
		.empty_sz = catalog_count(c, "marked-older-empty-bytes"),
		.heaps = catalog_count(c, "heaps-not-compared"),
	};
	return out->cnt || out->empty || out->heaps;
}

static int by_type(const void *a, const void *b)
{
	return strcmp(((const struct before_row *)a)->type, ((const struct before_row *)b)->type);
}

static int by_type_and_process(const void *a, const void *b)
{
	const struct before_row *x = a, *y = b;
	int order = by_type(a, b);
	return order ? order : (x->proc.n > y->proc.n) - (x->proc.n < y->proc.n);
}

static int by_size(const void *a, const void *b)
{
	const struct before_row *x = a, *y = b;
	return x->sz != y->sz ? (x->sz < y->sz ? 1 : -1) : by_type_and_process(a, b);
}

/* Merges rows of the same type from several processes. */
static size_t merge_types(struct before_row *rows, size_t n)
{
	size_t kept = 0;
	qsort(rows, n, sizeof(*rows), by_type);
	for (size_t i = 0; i < n; i++) {
		if (kept && !by_type(&rows[kept - 1], &rows[i])) {
			rows[kept - 1].cnt += rows[i].cnt;
			rows[kept - 1].sz += rows[i].sz;
			rows[kept - 1].proc = (struct proc_id){ 0 };
		} else {
			rows[kept++] = rows[i];
		}
	}
	return kept;
}

/* 0 where there are several; of one that executed another program, the last. */
static struct proc_id only_process(const struct catalog *c)
{
	size_t i = 0;
	const struct proc *only = catalog_next_proc(c, &i);
	for (const struct proc *p = only; p; p = catalog_next_proc(c, &i)) {
		if (p->tgid != only->tgid)
			return (struct proc_id){ 0 };
		only = p;
	}
	return only ? only->id : (struct proc_id){ 0 };
}

struct before_row *format_before_rows_apart(const struct catalog *c, size_t *cnt)
{
	const struct older *o;
	struct before all;
	size_t n = 0;
	*cnt = 0;
	format_before(c, &all);
	for (size_t i = 0; (o = catalog_next_older(c, &i));)
		n += o->cnt != 0;
	struct before_row *rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return NULL;
	n = 0;
	for (size_t i = 0; (o = catalog_next_older(c, &i));) {
		if (!o->cnt)
			continue;
		rows[n++] = (struct before_row){ o->type, o->proc, o->cnt, o->bytes };
		all.cnt -= o->cnt < all.cnt ? o->cnt : all.cnt;
		all.sz -= o->bytes < all.sz ? o->bytes : all.sz;
	}
	if (all.cnt)
		rows[n++] = (struct before_row){ "", only_process(c), all.cnt, all.sz };
	*cnt = n;
	qsort(rows, n, sizeof(*rows), by_size);
	return rows;
}

struct before_row *format_before_rows(const struct catalog *c, size_t *cnt)
{
	struct before_row *rows = format_before_rows_apart(c, cnt);
	if (rows) {
		*cnt = merge_types(rows, *cnt);
		qsort(rows, *cnt, sizeof(*rows), by_size);
	}
	return rows;
}

void format_before_name(const struct before_row *row, struct buf *out)
{
	buf_adds(out, "[before the recording]");
	buf_adds(out, *row->type ? " " : "");
	text_clean(out, row->type, SIZE_MAX);
}

static void before_rows_note(const struct catalog *c, struct buf *out)
{
	size_t n, shown;
	struct before_row *rows = format_before_rows(c, &n);
	for (shown = 0; shown < n && shown < BEFORE_SHOWN && *rows[0].type; shown++) {
		struct buf cnt = { 0 }, sz = { 0 };
		text_count(&cnt, rows[shown].cnt);
		text_count(&sz, rows[shown].sz);
		buf_addf(out, "%11s %13s  ", buf_str(&cnt), buf_str(&sz));
		format_before_name(&rows[shown], out);
		buf_u8(out, '\n');
		buf_free(&cnt);
		buf_free(&sz);
	}
	if (shown && n > shown)
		buf_addf(out, "%11s %13s  [before the recording] %zu more types\n", "", "", n - shown);
	free(rows);
}

void format_before_note(const struct catalog *c, struct buf *out)
{
	struct before b;
	format_before(c, &b);
	if (b.cnt) {
		buf_adds(out, "[before the recording] ");
		text_count(out, b.cnt);
		buf_addf(out, " object%s, ", b.cnt == 1 ? "" : "s");
		text_count(out, b.sz);
		buf_adds(out, " bytes, from the collector's marks at its last collection, without stacks: in no row\n");
		before_rows_note(c, out);
	}
	if (b.empty) {
		buf_adds(out, "[before the recording] ");
		text_count(out, b.empty);
		buf_addf(out, " more object%s, ", b.empty == 1 ? "" : "s");
		text_count(out, b.empty_sz);
		buf_adds(out, " bytes, of nothing but zeros: not written to, or free\n");
	}
	if (b.heaps)
		buf_addf(out,
			 "[before the recording] not counted in %" PRIu64
			 " collected heap%s: no collection was compared with the "
			 "records%s\n",
			 b.heaps, b.heaps == 1 ? "" : "s",
			 format_interval(c) || format_min_size(c) ? ", which takes a recording of all" : "");
}

/* Exact for sampled blocks: see var_* in model.h. */
void format_errors(const struct sink_input *in, struct buf *out)
{
	const struct snapshot *s = in->snapshot;
	const struct totals *t = &s->all;
	const struct {
		const char *of;
		bool bytes;
		double estimate, var;
	} sums[] = {
		{ "live bytes", true, t->est_live_sz, snapshot_var(s, s->n, LIVE_SZ) },
		{ "allocated bytes", true, t->est_alloc_sz, snapshot_var(s, s->n, ALLOC_SZ) },
		{ "live blocks", false, t->est_live_cnt, snapshot_var(s, s->n, LIVE_CNT) },
		{ "allocated blocks", false, t->est_alloc_cnt, snapshot_var(s, s->n, ALLOC_CNT) },
	};
	size_t n = in->snapshot->facts.sampled ? sizeof(sums) / sizeof(sums[0]) : 0;
	for (size_t i = 0; i < n; i++) {
		double error = sums[i].var > 0 ? sqrt(sums[i].var) : 0;
		buf_addf(out, "%s%s ", i ? ", of " : "standard error of the total of ", sums[i].of);
		if (sums[i].bytes)
			text_bytes(out, error);
		else
			buf_addf(out, "%.1f", error);
		if (sums[i].estimate > 0)
			buf_addf(out, " (%.1f %%)", 100 * error / sums[i].estimate);
	}
	buf_adds(out, n ? "\n" : "");
}

int format_refuse_samples(const struct catalog *c, const char *format, struct err *err)
{
	if (c && !format_interval(c))
		return 0;
	return err_set(err, EINVAL,
		       "a %s file lists every single allocation, but this trace contains samples: "
		       "use -f html, pprof, massif or speedscope, which can hold estimates, or record "
		       "without --sample",
		       format);
}

void format_command(const struct catalog *c, struct buf *out)
{
	size_t i = 0;
	const struct proc *p = catalog_next_proc(c, &i);
	const char *name = p && p->exe && *p->exe ? p->exe : p && p->comm ? p->comm : "unknown";
	text_clean(out, name, SIZE_MAX);
}

const char *format_basename(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}
