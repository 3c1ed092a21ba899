/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ledger: see ledger.h. */
#include "recorder/ledger.h"

#include <stdio.h>

#include "catalog/consumer.h"
#include "unwind/unwind.h"

static void put(struct ledger *g, const char *name, const char *help, enum count_class class, uint64_t value)
{
	struct count c = { .name = name, .help = help, .class = (uint8_t) class, .value = value };
	uint64_t before = g->account ? catalog_count(g->account, name) : 0;
	if (class == COUNT_NOTE && !value)
		return;
	catalog_put_count(g->h->catalog, &c);
	/* A file's ledger covers its own time only. */
	c.value = value > before ? value - before : 0;
	consumer_count(g->h->out, &c);
}

/* A current value, not a sum over time: it may return to 0. */
static void put_state(struct ledger *g, const char *name, const char *help, uint64_t value)
{
	struct count c = { .name = name, .help = help, .class = COUNT_NOTE, .value = value };
	if (!value && !catalog_count(g->h->catalog, name))
		return;
	catalog_put_count(g->h->catalog, &c);
	consumer_count(g->h->out, &c);
}

/* A value that can shrink: hits that waited when the file began, and no longer do, have their outcome in this file. */
static void put_waiting(struct ledger *g, const char *name, const char *help, enum count_class class, uint64_t value)
{
	put(g, name, help, class, value);
	if (!g->account)
		return;
	char own[64];
	uint64_t before = catalog_count(g->account, name);
	struct count c = { .name = own,
			   .help = "hits from before the file that ended in it",
			   .class = COUNT_HIT,
			   .value = before > value ? before - value : 0 };
	snprintf(own, sizeof(own), "hits-before-%s", name);
	consumer_count(g->h->out, &c);
}

/* BPF counters that enter the ledger, one of them with what the recorder saw of it; sent events are counted where they arrive instead. */
static void put_kernel(struct ledger *g, const struct ledger_sources *in)
{
	enum { HIT = COUNT_HIT, REC = 0, SKIPPED = COUNT_SKIPPED, LOST = COUNT_LOST, NOTE = COUNT_NOTE };
	static const struct {
		const char *name, *help;
		int class;
	} rows[ALYS_ST_CNT] = {
#define X(n, id, cls, text, what) [n] = { text, what, cls },
		ALYS_STAT_LIST(X)
#undef X
	};
	for (int i = 0; i < ALYS_ST_CNT; i++) {
		uint64_t own = i == ALYS_ST_UNHELD ? in->own.let_go : 0;
		if (rows[i].class && i != ALYS_ST_WAIT_BEGIN && i != ALYS_ST_WAIT_END && i != ALYS_ST_LOST_NO_RETURN)
			put(g, rows[i].name, rows[i].help, (enum count_class)rows[i].class, in->kernel.n[i] + own);
	}
}

/* Calls that entered and were not seen to leave, by function. */
static void put_calls(struct ledger *g, const struct ledger_sources *in)
{
	uint64_t rest = in->kernel.n[ALYS_ST_LOST_NO_RETURN];
	const struct probe_calls *calls = in->calls;
	for (size_t i = 0; i < in->calls_cnt; i++) {
		char name[PROBE_FUNCTION_LEN + 16];
		if (!calls[i].lost)
			continue;
		snprintf(name, sizeof(name), "no-return-%s", calls[i].function);
		put(g, name, "calls of this function that were not seen to leave", COUNT_LOST, calls[i].lost);
		rest -= calls[i].lost < rest ? calls[i].lost : rest;
	}
	put(g, "no-return", "calls left by an exception, longjmp or thread exit", COUNT_LOST, rest);
}

/* Returns their sum. */
static uint64_t put_arrived(struct ledger *g, const struct ledger_sources *in)
{
	static const struct {
		enum subject subject;
		enum event_kind kind;
		const char *name, *help;
	} rows[] = {
		{ SUBJECT_ALLOCATIONS, EVENT_ALLOC, "recorded-alloc", "allocations that arrived" },
		{ SUBJECT_ALLOCATIONS, EVENT_REALLOC, "recorded-realloc", "reallocations that arrived" },
		{ SUBJECT_ALLOCATIONS, EVENT_FREE, "recorded-free", "frees that arrived" },
		{ SUBJECT_PAGES, EVENT_ALLOC, "recorded-page", "touches of pages that arrived" },
		{ SUBJECT_PAGES, EVENT_FREE, "recorded-gone", "ranges of pages that left or moved, that arrived" },
		{ SUBJECT_MAPPINGS, EVENT_ALLOC, "recorded-mapping", "mappings that arrived" },
		{ SUBJECT_MAPPINGS, EVENT_FREE, "recorded-unmapped", "ranges of mappings that went or moved, that arrived" },
	};
	uint64_t sum = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t n = in->own.written[rows[i].subject][rows[i].kind];
		put(g, rows[i].name, rows[i].help, COUNT_NOTE, n);
		sum += n;
	}
	return sum;
}

static void put_own(struct ledger *g, const struct ledger_sources *in)
{
	uint64_t sent = in->kernel.n[ALYS_ST_REC_ALLOC] + in->kernel.n[ALYS_ST_REC_REALLOC] + in->kernel.n[ALYS_ST_REC_FREE];
	uint64_t got = put_arrived(g, in);
	uint64_t by_gc = in->collections.reclaimed + in->collections.reused;
	uint64_t dropped = g->dropped_before + consumer_dropped(g->h->out);
	uint64_t begun = in->kernel.n[ALYS_ST_WAIT_BEGIN], ended = in->kernel.n[ALYS_ST_WAIT_END];
	put(g, "recorded", "events in the trace", COUNT_RECORDED, got + by_gc - dropped);
	if (by_gc)
		put(g, "hits-gc", "blocks that a collector was seen to free", COUNT_HIT, by_gc);
	put_waiting(g, "in-flight", "calls that had not returned when the recording ended", COUNT_SKIPPED,
		    begun > ended ? begun - ended : 0);
	/* Late while the recording runs, lost when it is over. */
	put_waiting(g, "unread", "events that were sent but not read from the ring", in->over ? COUNT_LOST : COUNT_SKIPPED,
		    sent > got + in->own.foreign ? sent - got - in->own.foreign : 0);
	put(g, "foreign", "events of processes that were gone from the table", COUNT_LOST, in->own.foreign);
	put(g, "disk-full", "events that could not be written to the file", COUNT_LOST, dropped);
	put(g, "not-run", "probe hits that the kernel did not hand to the program", COUNT_LOST, in->kernel.misses);
	put(g, "hits-not-run", "the same, as hits", COUNT_HIT, in->kernel.misses);
	put(g, "records-unusable", "records of the ring that made no sense", COUNT_NOTE, in->intake.bad + in->intake.unknown);
	put_state(g, "stacks", "distinct call stacks", in->stacks);
	put_state(g, "stacks-kept", "distinct call stacks, without those that were forgotten", in->stacks_left);
	put(g, "stacks-unresolved", "call stacks with an address in no known file", COUNT_NOTE, in->own.unresolved);
	put(g, "events-without-stack", "events whose stack record was lost", COUNT_NOTE, in->own.unknown_stacks);
	put_state(g, "probe-sites", "probed addresses", in->kernel.sites);
	put_state(
		g, "files-alike",
		"files on overlays that look like one that is probed, where the system does not tell which file they are: if one "
		"is a different file, its calls are not seen",
		in->kernel.files_alike);
	put(g, "rate-changes", "times that the sampling interval changed because the reader fell behind or caught up", COUNT_NOTE,
	    in->rate_changes);
	put(g, "probes-renewed",
	    "times that all probes were taken away and put back for the sake of another program: calls meanwhile were not seen",
	    COUNT_NOTE, in->renewals);
	put(g, CHILDREN_LATE,
	    "forked children that had probes of their own a moment after they began: what they did before is missing", COUNT_NOTE,
	    in->children_late);
	put_state(g, "ring-bytes", "room for unread records", g->h->o->ring_sz);
}

/* Unwind rows that the stack walk has, and those that it lacks. */
static void put_rows(struct ledger *g, const struct ledger_sources *in)
{
	static const char *const rowless[ROWLESS_CNT][2] = {
		[ROWLESS_NO_EH_FRAME] = { "files-no-eh-frame", "files without .eh_frame: walked by frame pointer" },
		[ROWLESS_DEBUG_FRAME] = { "files-debug-frame",
					  "files with .debug_frame only, which is not read: walked by frame pointer" },
		[ROWLESS_DAMAGED] = { "files-bad-eh-frame", "files with a damaged .eh_frame: walked by frame pointer" },
		[ROWLESS_OTHER] = { "files-without-rows", "files that could not be read: walked by frame pointer" },
	};
	static const char *const unsupported[ALYS_ROW_WHY_CNT] = {
		[ALYS_ROW_WHY_RA] = "rows-odd-ra",  [ALYS_ROW_WHY_CFA] = "rows-odd-cfa",      [ALYS_ROW_WHY_BP] = "rows-odd-rbp",
		[ALYS_ROW_WHY_SP] = "rows-odd-rsp", [ALYS_ROW_WHY_FULL] = "rows-too-special",
	};
	const struct unwind_counts c = in->rows;
	put_state(g, "rows", "unwind rows with a rule", c.plain + c.spec + c.plt + c.signal + c.end);
	put_state(g, "rows-none", "unwind rows for code without a rule", c.none);
	for (uint32_t i = 0; i < ALYS_ROW_WHY_CNT; i++) {
		char help[80];
		snprintf(help, sizeof(help), "unwind rows that cannot be expressed: %s", unwind_why(i));
		put_state(g, unsupported[i], help, c.unsupported[i]);
	}
	for (int i = 0; i < ROWLESS_CNT; i++)
		put_state(g, rowless[i][0], rowless[i][1], in->rowless[i]);
	put_state(g, "files-given-up",
		  "files of which parts were not read, larger than such parts can be, holes, or too much work: they may lack "
		  "probes, rows and names",
		  in->files_given_up);
}

/* Frees by garbage collectors. */
static void put_collections(struct ledger *g, const struct ledger_sources *in)
{
	if (!in->collects)
		return;
	struct liveness_counts n = in->collections;
	struct marks_cost cost = in->marks;
	put(g, "collections", "collections of a garbage collector", COUNT_NOTE, n.collections);
	put(g, "collections-missed", "collections whose marks could not be read in time", COUNT_NOTE, n.missed);
	put(g, "reclaimed", "blocks that a collector reclaimed", COUNT_NOTE, n.reclaimed);
	put(g, "reclaimed-unseen", "blocks whose place a collector had given away again", COUNT_NOTE, n.reused);
	put_state(g, "marked-unknown", "objects that the last collection marked and no record tells of", n.unknown);
	put_state(g, "marked-unknown-bytes", "bytes of them, as the collector rounds them", n.unknown_sz);
	put_state(
		g, "marked-empty",
		"objects that the last collection marked, no record tells of and hold nothing but zeros: free, or not written to",
		n.empty);
	put_state(g, "marked-empty-bytes", "bytes of them, as the collector rounds them", n.empty_sz);
	put_state(g, "marked-older", "objects that the last collection marked and that were there before the recording", n.older);
	put_state(g, "marked-older-bytes", "bytes of them, as the collector rounds them", n.older_sz);
	put_state(g, "marked-older-empty", "those of them that were there before the recording", n.older_empty);
	put_state(g, "marked-older-empty-bytes", "bytes of them, as the collector rounds them", n.older_empty_sz);
	put_state(g, "marked-inherited", "objects that the last collection marked and that a child has from its parent",
		  n.inherited);
	put_state(g, "marked-inherited-bytes", "bytes of them, as the collector rounds them", n.inherited_sz);
	put_state(g, "heaps-not-compared",
		  "collected heaps from before the recording of which no collection was compared with the records", n.uncompared);
	if (in->sample_gap) {
		put_state(g, "marked-all", "objects that the last collection marked whose marks were all read, sampled or not",
			  n.reached);
		put_state(g, "marked-all-bytes", "bytes of them, as the collector rounds them", n.reached_sz);
		put_state(g, "collections-since", "collections after that one", n.since);
		put_state(g, "heaps-not-read", "collected heaps of which no collection's marks were all read", n.unread);
	}
	put(g, "marks-us", "microseconds spent on reading marks", COUNT_NOTE, cost.total_ns / 1000);
	put(g, "marks-in-part", "collections at which only marks of sampled objects were read", COUNT_NOTE, cost.parts);
	put(g, "marks-of-none", "collections at which no mark was read: no sampled object was left", COUNT_NOTE, cost.none);
	put_state(g, "marks-longest-us", "microseconds that the longest reading of marks took", cost.longest_ns / 1000);
	put_state(g, "judged-longest-us",
		  "microseconds of the processor, at most, to find the dead of a collection and write them", n.longest_ns / 1000);
}

static void put_stack_ends(struct ledger *g, const struct ledger_sources *in)
{
	static const char *const names[] = {
#define X(n, id, name, help) [n] = "stack-end-" name,
		STACK_END_LIST(X)
#undef X
	};
	for (int i = 0; i < STACK_END_CNT; i++)
		put(g, names[i], stack_end_help((enum stack_end)i), COUNT_NOTE, in->stack_ends[i]);
}

static void report_loss(struct ledger *g, enum event_kind kind, uint64_t lost, uint64_t now)
{
	uint64_t fresh = lost - g->reported[kind];
	if (!fresh)
		return;
	g->reported[kind] = lost;
	struct event e = { .kind = EVENT_LOSS, .lost_kind = (uint8_t)kind, .time_ns = now, .size = fresh };
	g->event(g->ctx, &e);
}

void ledger_publish(struct ledger *g, const struct ledger_sources *in, uint64_t now)
{
	const uint64_t *n = in->kernel.n;
	put_kernel(g, in);
	put_calls(g, in);
	put_own(g, in);
	put_rows(g, in);
	put_collections(g, in);
	put_stack_ends(g, in);
	report_loss(g, EVENT_ALLOC,
		    n[ALYS_ST_LOST_RING_ALLOC] + n[ALYS_ST_LOST_PENDING] + n[ALYS_ST_LOST_READ] + n[ALYS_ST_LOST_SAMPLED_FULL],
		    now);
	report_loss(g, EVENT_REALLOC, n[ALYS_ST_LOST_RING_REALLOC], now);
	report_loss(g, EVENT_FREE, n[ALYS_ST_LOST_RING_FREE], now);
}

void ledger_cut(struct ledger *g)
{
	const struct catalog *c = g->h->catalog;
	uint64_t outcomes = catalog_sum(c, COUNT_RECORDED) + catalog_sum(c, COUNT_SKIPPED) + catalog_sum(c, COUNT_LOST);
	int64_t under_way = (int64_t)(catalog_sum(c, COUNT_HIT) - outcomes), more = under_way - g->under_way;
	struct count skipped = { .name = "under-way",
				 .help = "hits whose outcome was not counted yet when the file ended",
				 .class = COUNT_SKIPPED,
				 .value = more > 0 ? (uint64_t)more : 0 };
	struct count hits = { .name = "hits-before-under-way",
			      .help = "hits from before the file whose outcome is in it",
			      .class = COUNT_HIT,
			      .value = more < 0 ? (uint64_t)-more : 0 };
	consumer_count(g->h->out, &skipped);
	consumer_count(g->h->out, &hits);
	g->under_way = under_way;
}
