/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/info: summarizes a trace: what was traced, how and when, totals, losses. */
#include "base/exit_status.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "catalog/attributes.h"
#include "catalog/exactness.h"
#include "format/format.h"
#include "recorder/ending.h"
#include "recorder/ledger.h"
#include "replay/replay.h"

static void add_clean(struct buf *out, const char *text)
{
	text_clean(out, text, SIZE_MAX);
}

static uint64_t meta_number(const struct catalog *c, const char *key)
{
	const char *text = catalog_meta(c, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

static void add_when(struct buf *out, const struct replay *r)
{
	char stamp[64];
	struct tm tm;
	uint64_t real = meta_number(r->catalog, "start_real_ns") ?: r->health.clock.real_ns;
	uint64_t begin = meta_number(r->catalog, "start_mono_ns") ?: r->health.clock.mono_ns;
	uint64_t end = meta_number(r->catalog, "end_mono_ns") ?: r->health.last_ns;
	time_t seconds = (time_t)(real / 1000000000ull);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &tm));
	buf_addf(out, "recorded     %s, for %.1f s\n", stamp, end > begin ? (double)(end - begin) / 1e9 : 0.0);
}

static void add_meta(struct buf *out, const struct catalog *c)
{
	static const struct {
		const char *key, *label;
	} rows[] = {
		{ "hostname", "host" },
		{ "kernel", "kernel" },
		{ "version", "alys-bpf" },
		{ "options", "options" },
		{ "tier", "probes" },
		{ "walk", "stack walk" },
		{ "backtrace", "backtrace" },
		{ "sample", "sample" },
		{ "sample_at", "sampled at" },
		{ "max_overhead", "max overhead" },
		{ SUBJECT_KEY, "subject" },
		{ BESIDE_KEY, "beside" },
		{ "page_sample", "page sample" },
		{ "noted", "own probes" },
		{ "profile", "profile" },
		{ "windows", "windows" },
		{ "min_size", "min size" },
		{ "dump", "heap" },
		{ "census", "census" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = catalog_meta(c, rows[i].key);
		if (!value || !*value)
			continue;
		buf_addf(out, "%-12s ", rows[i].label);
		add_clean(out, value);
		buf_adds(out, "\n");
	}
}

static void add_liveness(struct buf *out, const struct catalog *c)
{
	struct buf text = { 0 };
	exactness_text_of(c, &text);
	if (text.len)
		buf_addf(out, "%-12s %s\n", "liveness", buf_str(&text));
	buf_free(&text);
}

static void add_gap(struct buf *out, const struct catalog *c)
{
	struct buf gap = { 0 };
	format_gap(c, &gap);
	if (gap.len)
		buf_addf(out, "%-12s %s\n", "not sampled", buf_str(&gap));
	buf_free(&gap);
}

#define RATES_SHOWN 16
#define ENDS_SHOWN 16

/* What is reported of single events. */
struct incidents {
	const struct catalog *catalog;
	uint64_t start_ns;
	struct buf rates; /* changes of the sampling interval */
	unsigned int rates_cnt;
	struct buf ends;
	unsigned int ends_cnt, unsaid[ENDING_CNT]; /* unsaid: by kind, those not listed in ends */
	struct map faults;                         /* stack -> its faults + 1, for stacks seen so far */
	uint64_t stacked; /* events with a stack; of these by end of the stack (cuts), and with a frame in no module (strange) */
	uint64_t cuts[STACK_END_CNT], strange;
};

static double seconds_of(const struct incidents *in, const struct event *e)
{
	return e->time_ns > in->start_ns ? (double)(e->time_ns - in->start_ns) / 1e9 : 0.0;
}

static void note_end(struct incidents *in, const struct event *e)
{
	const struct proc *p = catalog_proc(in->catalog, e->proc);
	bool starved = e->flags & EVENT_F_OUT_OF_MEMORY;
	if (!starved && !(e->flags & EVENT_F_STATUS))
		return;
	if (in->ends_cnt++ >= ENDS_SHOWN) {
		in->unsaid[ending_of(e)]++;
		return;
	}
	buf_addf(&in->ends, "%-12s %" PRIu32 " ", starved ? "killed" : "ended", p ? p->tgid : 0);
	add_clean(&in->ends, p && p->comm ? p->comm : "");
	buf_adds(&in->ends, starved ? " by the kernel, for want of memory" : ": ");
	if (!starved)
		ending_text(e, &in->ends);
	buf_addf(&in->ends, ", at %.3f s\n", seconds_of(in, e));
}

#define STRANGE 0x100 /* flag beside enum stack_end: some frame is in no known module */

static uint64_t faults_of(const struct catalog *c, struct stack_id id)
{
	const struct stack *s = catalog_stack(c, id);
	uint64_t faults = !s ? STACK_END_LOST : s->end < STACK_END_CNT ? s->end : STACK_END_UNKNOWN;
	for (uint32_t i = 0; s && i < s->n; i++)
		faults |= s->frames[i].map.n ? 0 : STRANGE;
	return faults;
}

/* Counts events, not stacks: a few cut stacks may belong to most events. */
static int note_stack(struct incidents *in, const struct event *e)
{
	uint64_t *known = e->stack.n ? map_put(&in->faults, e->stack.n) : NULL;
	if (!known)
		return e->stack.n ? -ENOMEM : 0;
	if (!*known)
		*known = faults_of(in->catalog, e->stack) + 1;
	uint64_t faults = *known - 1;
	in->stacked++;
	in->strange += faults / STRANGE;
	in->cuts[faults % STRANGE]++;
	return 0;
}

static int note_incident(void *ctx, const struct event *e, const struct applied *a)
{
	struct incidents *in = ctx;
	(void)a;
	if (e->kind <= EVENT_FREE && !(e->flags & EVENT_F_CARRIED) && note_stack(in, e))
		return -ENOMEM;
	if (e->kind == EVENT_RATE && in->rates_cnt++ < RATES_SHOWN)
		buf_addf(&in->rates, "rate         bytes:%" PRIu64 " from %.3f s on\n", e->interval, seconds_of(in, e));
	if (e->kind == EVENT_EXIT)
		note_end(in, e);
	return 0;
}

static void add_incidents(struct buf *out, struct incidents *in)
{
	buf_adds(out, buf_str(&in->rates));
	if (in->rates_cnt > RATES_SHOWN)
		buf_addf(out, "             and %u changes more\n", in->rates_cnt - RATES_SHOWN);
	buf_adds(out, buf_str(&in->ends));
	const char *comma = "";
	if (in->ends_cnt > ENDS_SHOWN)
		buf_addf(out, "             and %u processes more: ", in->ends_cnt - ENDS_SHOWN);
	for (int i = 0; i < ENDING_CNT; i++) {
		if (!in->unsaid[i])
			continue;
		buf_addf(out, "%s%u %s", comma, in->unsaid[i], ending_name((enum ending)i));
		comma = ", ";
	}
	buf_adds(out, *comma ? "\n" : "");
}

/* How many stacks are cut, by reason. */
static void add_cuts(struct buf *out, const struct incidents *in)
{
	const char *comma = ":";
	uint64_t cut = in->stacked - in->cuts[STACK_END_COMPLETE];
	if (cut)
		buf_addf(out, "cut stacks   %" PRIu64 " of %" PRIu64 " events", cut, in->stacked);
	for (int i = 0; i < STACK_END_CNT; i++) {
		if (i == STACK_END_COMPLETE || !in->cuts[i])
			continue;
		buf_addf(out, "%s %s %" PRIu64, comma, stack_end_name((enum stack_end)i), in->cuts[i]);
		comma = ",";
	}
	buf_adds(out, cut ? "\n" : "");
	if (in->strange)
		buf_addf(out, "unknown code %" PRIu64 " of %" PRIu64 " events have a frame that lies in no known file\n",
			 in->strange, in->stacked);
}

static void add_attributes(struct buf *out, const struct proc *p)
{
	struct attribute a;
	for (size_t at = 0; attributes_next(p->attributes, &at, &a);) {
		buf_adds(out, ", ");
		add_clean(out, a.name);
		buf_adds(out, " ");
		add_clean(out, a.value);
	}
}

static void add_processes(struct buf *out, const struct catalog *c)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(c, &i));) {
		if (!catalog_shows(c, p->id))
			continue;
		buf_addf(out, "process      %" PRIu32 " ", p->tgid);
		add_clean(out, p->comm ?: "");
		buf_adds(out, " ");
		add_clean(out, p->exe ?: "");
		if (p->generation)
			buf_addf(out, ", after exec %" PRIu32, p->generation);
		add_attributes(out, p);
		buf_adds(out, "\n");
	}
}

static void add_modules(struct buf *out, const struct catalog *c)
{
	const struct module *m;
	char id[BUILD_ID_TEXT];
	for (size_t i = 0; (m = catalog_next_module(c, &i));) {
		buf_adds(out, "file         ");
		add_clean(out, m->path ?: "");
		buf_adds(out, m->build_id_sz ? " " : " (no build id)");
		buf_adds(out, module_build_id(m, id));
		buf_adds(out, "\n");
	}
}

static void add_ledger(struct buf *out, const struct catalog *c)
{
	static const char *const classes[] = {
		[COUNT_HIT] = "hit",   [COUNT_RECORDED] = "recorded", [COUNT_SKIPPED] = "skipped",
		[COUNT_LOST] = "lost", [COUNT_NOTE] = "note",
	};
	const struct count *n;
	buf_adds(out, "ledger       ");
	catalog_ledger_text(c, out);
	buf_adds(out, "\n");
	for (size_t i = 0; (n = catalog_next_count(c, &i));) {
		if (n->value && n->class < sizeof(classes) / sizeof(classes[0]) && classes[n->class])
			buf_addf(out, "  %-10s %-22s %14" PRIu64 "  %s\n", classes[n->class], n->name, n->value, n->help ?: "");
	}
}

struct sums {
	double cnt, cnt_var, sz, sz_var; /* variances are 0 where nothing is estimated */
};

/* With standard errors if estimated. */
static void add_sums(struct buf *out, const struct sums *s)
{
	text_count(out, (uint64_t)llround(s->cnt));
	if (s->cnt_var > 0)
		buf_addf(out, " +- %.0f", ceil(sqrt(s->cnt_var)));
	buf_adds(out, " blocks, ");
	text_bytes(out, s->sz);
	if (!(s->sz_var > 0))
		return;
	buf_adds(out, " +- ");
	text_bytes(out, sqrt(s->sz_var));
}

/* The estimate, or its upper bound if nothing was sampled. */
static void add_estimate(struct buf *out, double below, const struct sums *s)
{
	if (below)
		format_none_sampled(below, out);
	else
		add_sums(out, s);
}

static void add_heap(struct buf *out, const struct catalog *c, const struct snapshot *s)
{
	const struct totals *t = &s->all;
	double below = format_below(c, t);
	struct buf before = { 0 };
	buf_addf(out, "events       %" PRIu64 " in %zu stacks\n", s->facts.events, s->n);
	if (s->facts.carried)
		buf_addf(out, "carried over %" PRIu64 " block%s in use when the file began\n", s->facts.carried,
			 s->facts.carried == 1 ? "" : "s");
	buf_adds(out, "allocated    ");
	add_estimate(out, t->alloc_cnt ? 0 : below,
		     &(struct sums){ t->est_alloc_cnt, snapshot_var(s, s->n, ALLOC_CNT), t->est_alloc_sz,
				     snapshot_var(s, s->n, ALLOC_SZ) });
	buf_adds(out, s->facts.sampled ? " (estimated)\n" : "\n");
	buf_adds(out, "in use       ");
	add_estimate(out, below,
		     &(struct sums){ t->est_live_cnt, snapshot_var(s, s->n, LIVE_CNT), t->est_live_sz,
				     snapshot_var(s, s->n, LIVE_SZ) });
	buf_adds(out, s->facts.lost_frees ? " at the end (upper bound: frees were lost)\n" : " at the end\n");
	format_before_note(c, &before);
	for (const char *at = buf_str(&before), *end; (end = strchr(at, '\n')); at = end + 1)
		buf_addf(out, "             %.*s\n", (int)(end - at), at);
	buf_free(&before);
	if (s->facts.inherited_free)
		buf_addf(out, "             %" PRIu64 " free%s by forked children of blocks that they got from their parent\n",
			 s->facts.inherited_free, s->facts.inherited_free == 1 ? "" : "s");
	if (s->facts.unknown_free)
		buf_addf(out, "             %" PRIu64 " free%s of blocks from before the recording%s\n", s->facts.unknown_free,
			 s->facts.unknown_free == 1 ? "" : "s",
			 catalog_count(c, CHILDREN_LATE) ? ", or from before a child had its probes" : "");
	if (s->facts.replaced)
		buf_addf(out, "             %" PRIu64 " block%s whose address was handed out again unseen\n", s->facts.replaced,
			 s->facts.replaced == 1 ? "" : "s");
}

/* The sums of a subject beside the first one, for which the trace is read once more. */
static int add_subject(struct buf *out, const char *path, enum subject s, struct err *err)
{
	static const char *const words[] = { [SUBJECT_PAGES] = "touched", [SUBJECT_MAPPINGS] = "mapped" };
	struct replay r;
	int rc = replay_open(&r, path, err);
	if (rc)
		return rc;
	rc = replay_show(&r, s + 1, err) ?: replay_events(&r, NULL, NULL, err);
	struct snapshot *snap = rc ? NULL : heap_snapshot(r.heap);
	if (!rc && !snap)
		rc = err_set(err, ENOMEM, "out of memory");
	if (!rc) {
		buf_addf(out, "%-14s %s ", subject_name(s), words[s]);
		text_bytes(out, snap->all.est_alloc_sz);
		buf_adds(out, ", in use ");
		text_bytes(out, snap->all.est_live_sz);
		buf_adds(out, " at the end\n");
	}
	snapshot_free(snap);
	replay_close(&r);
	return rc;
}

static int add_beside(struct buf *out, const struct catalog *c, const char *path, struct err *err)
{
	int rc = 0;
	for (enum subject s = SUBJECT_PAGES; s < SUBJECT_CNT && !rc; s++) {
		if (s != catalog_subject(c) && catalog_has_subject(c, s))
			rc = add_subject(out, path, s, err);
	}
	return rc;
}

static void add_recording(struct buf *out, const struct replay *r, struct incidents *seen, const struct snapshot *snap,
			  const char *beside)
{
	add_when(out, r);
	add_meta(out, r->catalog);
	add_liveness(out, r->catalog);
	add_gap(out, r->catalog);
	add_incidents(out, seen);
	add_processes(out, r->catalog);
	add_modules(out, r->catalog);
	add_heap(out, r->catalog, snap);
	buf_adds(out, beside);
	add_cuts(out, seen);
	if (snap->facts.events)
		buf_addf(out, "file size    %.1f bytes an event\n", (double)r->health.bytes / (double)snap->facts.events);
	add_ledger(out, r->catalog);
}

static int print_info(struct replay *r, const struct info_options *o, struct err *err)
{
	struct buf out = { 0 };
	struct buf damage = { 0 }, beside = { 0 };
	struct incidents seen = { .catalog = r->catalog, .start_ns = replay_start_ns(r) };
	int rc = replay_events(r, note_incident, &seen, err);
	struct snapshot *snap = rc ? NULL : heap_snapshot(r->heap);
	bool damaged = replay_damage(r, &damage);
	if (!rc && !snap)
		rc = err_set(err, ENOMEM, "out of memory");
	if (!rc) {
		buf_addf(&out, "trace        %s, format %u.%u, %" PRIu64 " frames\n", o->input, r->health.major, r->health.minor,
			 r->health.frames);
		if (damaged)
			buf_addf(&out,
				 "damage       %s\n"
				 "             events and sums are of what was recovered; the ledger is the last that the "
				 "recording wrote\n",
				 buf_str(&damage));
		rc = add_beside(&beside, r->catalog, o->input, err);
		add_recording(&out, r, &seen, snap, buf_str(&beside));
	}
	if (!rc)
		rc = out.failed ? err_set(err, ENOMEM, "out of memory") : outfile_print(out.data, out.len, err);
	if (!rc && damaged)
		rc = o->strict ? err_set(err, EILSEQ, "%s: %s", o->input, buf_str(&damage)) : 0;
	if (!rc && damaged)
		log_warn("%s: %s", o->input, buf_str(&damage));
	snapshot_free(snap);
	buf_free(&out);
	buf_free(&damage);
	buf_free(&beside);
	buf_free(&seen.rates);
	buf_free(&seen.ends);
	map_free(&seen.faults);
	return rc;
}

int run_info(const struct info_options *o, struct err *err)
{
	struct replay r;
	int rc = replay_open(&r, o->input, err);
	if (rc)
		return rc == -ENOENT ? EXIT_NOTHING : EXIT_ERROR;
	rc = print_info(&r, o, err);
	replay_close(&r);
	return !rc ? EXIT_OK : rc == -EILSEQ ? EXIT_NOTHING : EXIT_ERROR;
}
