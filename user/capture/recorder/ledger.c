/* recorder/ledger: see ledger.h. */
#include "recorder/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "recorder/tracker.h"
#include "unwind/unwind.h"

static void put(struct live *l, const char *name, const char *help, enum count_class class, uint64_t value)
{
	struct count c = { .name = name, .help = help, .class = (uint8_t)class, .value = value };
	uint64_t before = l->account ? catalog_count(l->account, name) : 0;
	if (class == COUNT_NOTE && !value)
		return;
	catalog_put_count(l->h.catalog, &c);
	/* A file's account is of its own time. */
	c.value = value > before ? value - before : 0;
	trace_write_count(l->h.writer, &c);
}

/* What does not add up over time, and may be nothing again. */
static void put_state(struct live *l, const char *name, const char *help, uint64_t value)
{
	struct count c = { .name = name, .help = help, .class = COUNT_NOTE, .value = value };
	if (!value && !catalog_count(l->h.catalog, name))
		return;
	catalog_put_count(l->h.catalog, &c);
	trace_write_count(l->h.writer, &c);
}

/* What can shrink: hits that waited when the file began, and do no more, have become something in it. */
static void put_waiting(struct live *l, const char *name, const char *help, enum count_class class, uint64_t value)
{
	put(l, name, help, class, value);
	if (!l->account)
		return;
	char own[64];
	uint64_t before = catalog_count(l->account, name);
	struct count c = { .name = own, .help = "hits from before the file that ended in it", .class = COUNT_HIT,
			   .value = before > value ? before - value : 0 };
	snprintf(own, sizeof(own), "hits-before-%s", name);
	trace_write_count(l->h.writer, &c);
}

/* Counters that go into the account as they are; what left the kernel is counted again where it arrived. */
static void put_kernel(struct live *l, const struct probe_stats *s)
{
	enum { HIT = COUNT_HIT, REC = 0, ASIDE = COUNT_ASIDE, LOST = COUNT_LOST, NOTE = COUNT_NOTE };
	static const struct {
		const char *name, *help;
		int class;
	} rows[ALYS_ST_CNT] = {
#define X(n, id, cls, text, what) [n] = { text, what, cls },
		ALYS_STAT_LIST(X)
#undef X
	};
	for (int i = 0; i < ALYS_ST_CNT; i++) {
		if (rows[i].class && i != ALYS_ST_WAIT_BEGIN && i != ALYS_ST_WAIT_END && i != ALYS_ST_LOST_NO_RETURN)
			put(l, rows[i].name, rows[i].help, (enum count_class)rows[i].class, s->n[i]);
	}
}

/* Calls that entered and were not seen to leave, by function. */
static void put_calls(struct live *l, const struct probe_stats *s)
{
	uint64_t rest = s->n[ALYS_ST_LOST_NO_RETURN];
	struct probe_calls *calls;
	size_t n;
	probe_calls(l->h.probe, &calls, &n);
	for (size_t i = 0; i < n; i++) {
		char name[PROBE_FUNCTION_LEN + 16];
		if (!calls[i].lost)
			continue;
		snprintf(name, sizeof(name), "no-return-%s", calls[i].function);
		put(l, name, "calls of this function that were not seen to leave", COUNT_LOST, calls[i].lost);
		rest -= calls[i].lost < rest ? calls[i].lost : rest;
	}
	free(calls);
	put(l, "no-return", "calls left by an exception, longjmp or thread exit", COUNT_LOST, rest);
}

static uint64_t frees_by_gc(const struct live *l)
{
	struct liveness_counts n = liveness_counts(l->gc.liveness);
	return n.reclaimed + n.reused;
}

static void put_own(struct live *l, const struct probe_stats *s)
{
	uint64_t sent = s->n[ALYS_ST_REC_ALLOC] + s->n[ALYS_ST_REC_REALLOC] + s->n[ALYS_ST_REC_FREE];
	uint64_t got = l->stats.written[EVENT_ALLOC] + l->stats.written[EVENT_REALLOC] + l->stats.written[EVENT_FREE];
	uint64_t by_gc = l->gc.liveness ? frees_by_gc(l) : 0;
	uint64_t dropped = l->dropped_before + trace_dropped(l->h.writer);
	struct intake_counts in = intake_counts(l->intake);
	uint64_t begun = s->n[ALYS_ST_WAIT_BEGIN], ended = s->n[ALYS_ST_WAIT_END];
	put(l, "recorded", "events in the trace", COUNT_RECORDED, got + by_gc - dropped);
	if (by_gc)
		put(l, "hits-gc", "blocks that a collector was seen to free", COUNT_HIT, by_gc);
	put(l, "recorded-alloc", "allocations that arrived", COUNT_NOTE, l->stats.written[EVENT_ALLOC]);
	put(l, "recorded-realloc", "reallocations that arrived", COUNT_NOTE, l->stats.written[EVENT_REALLOC]);
	put(l, "recorded-free", "frees that arrived", COUNT_NOTE, l->stats.written[EVENT_FREE]);
	put_waiting(l, "in-flight", "calls that had not returned when the recording ended", COUNT_ASIDE,
		    begun > ended ? begun - ended : 0);
	/* They are late while it goes on, and lost when it is over. */
	put_waiting(l, "unread", "events that were sent but not read from the ring",
		    l->stopped_ns ? COUNT_LOST : COUNT_ASIDE, sent > got + l->stats.foreign ? sent - got - l->stats.foreign : 0);
	put(l, "foreign", "events of processes that were gone from the table", COUNT_LOST, l->stats.foreign);
	put(l, "disk-full", "events that could not be written to the file", COUNT_LOST, dropped);
	put(l, "not-run", "probe hits that the kernel did not hand to the program", COUNT_LOST, s->misses);
	put(l, "hits-not-run", "the same, as hits", COUNT_HIT, s->misses);
	put(l, "records-unusable", "records of the ring that made no sense", COUNT_NOTE, in.bad + in.unknown);
	put_state(l, "stacks", "distinct call stacks", l->stacks.count);
	put_state(l, "stacks-kept", "distinct call stacks, without those that were forgotten",
		  stacks_left(&l->stacks));
	put(l, "stacks-unresolved", "call stacks with an address in no known file", COUNT_NOTE, l->stats.unresolved);
	put(l, "events-without-stack", "events whose stack record was lost", COUNT_NOTE, l->stats.unknown_stacks);
	put_state(l, "probe-sites", "probed addresses", s->sites);
	put(l, "rate-changes", "times that the sampling interval changed because the reader fell behind or caught up",
	    COUNT_NOTE, l->rate.changes);
	put(l, "probes-renewed", "times that all probes were taken away and put back for the sake of another program: calls meanwhile were not seen",
	    COUNT_NOTE, attach_facts(l->attach)->renewals);
	put_state(l, "ring-bytes", "size of the ring buffer", l->h.o->ring_sz);
}

static void put_children(struct live *l)
{
	if (l->tracker)
		put(l, CHILDREN_LATE, "forked children that had probes of their own a moment after they began: what they did before is missing",
		    COUNT_NOTE, tracker_counts(l->tracker).late);
}

/* What the stack walk has to go by, and what it lacks. */
static void put_rows(struct live *l)
{
	static const char *const rowless[ROWLESS_CNT][2] = {
		[ROWLESS_NO_EH_FRAME] = { "files-no-eh-frame", "files without .eh_frame: walked by frame pointer" },
		[ROWLESS_DEBUG_FRAME] = { "files-debug-frame", "files with .debug_frame only, which is not read: walked by frame pointer" },
		[ROWLESS_DAMAGED] = { "files-bad-eh-frame", "files with a damaged .eh_frame: walked by frame pointer" },
		[ROWLESS_OTHER] = { "files-without-rows", "files that could not be read: walked by frame pointer" },
	};
	static const char *const unsupported[ALYS_ROW_WHY_CNT] = {
		[ALYS_ROW_WHY_RA] = "rows-odd-ra", [ALYS_ROW_WHY_CFA] = "rows-odd-cfa", [ALYS_ROW_WHY_BP] = "rows-odd-rbp",
		[ALYS_ROW_WHY_SP] = "rows-odd-rsp", [ALYS_ROW_WHY_FULL] = "rows-too-special",
	};
	const struct unwind_counts c = tables_counts(probe_tables(l->h.probe)).rows;
	put_state(l, "rows", "unwind rows with a rule", c.plain + c.spec + c.plt + c.signal + c.end);
	put_state(l, "rows-none", "unwind rows for code without a rule", c.none);
	for (uint32_t i = 0; i < ALYS_ROW_WHY_CNT; i++) {
		char help[80];
		snprintf(help, sizeof(help), "unwind rows that cannot be expressed: %s", unwind_why(i));
		put_state(l, unsupported[i], help, c.unsupported[i]);
	}
	for (int i = 0; i < ROWLESS_CNT; i++)
		put_state(l, rowless[i][0], rowless[i][1], l->rows.without[i]);
	struct examinations_counts n = study_counts(l->study);
	put_state(l, "files-given-up", "files of which parts were not read, larger than such parts can be, holes, or too much work: they may lack probes, rows and names",
		  n.given_up);
}

/* Frees that no call asked for. */
static void put_collections(struct live *l)
{
	if (!l->gc.liveness)
		return;
	struct liveness_counts n = liveness_counts(l->gc.liveness);
	struct marks_cost cost = marks_cost(l->gc.marks);
	put(l, "collections", "collections of a garbage collector", COUNT_NOTE, n.collections);
	put(l, "collections-missed", "collections whose marks could not be read in time", COUNT_NOTE, n.missed);
	put(l, "reclaimed", "blocks that a collector reclaimed", COUNT_NOTE, n.reclaimed);
	put(l, "reclaimed-unseen", "blocks whose place a collector had given away again", COUNT_NOTE, n.reused);
	put_state(l, "marked-unknown", "objects that the last collection marked and no record tells of", n.unknown);
	put_state(l, "marked-unknown-bytes", "bytes of them, as the collector rounds them", n.unknown_sz);
	put_state(l, "marked-empty", "objects that the last collection marked, no record tells of and hold nothing but zeros: free, or not written to",
		  n.empty);
	put_state(l, "marked-empty-bytes", "bytes of them, as the collector rounds them", n.empty_sz);
	put_state(l, "marked-older", "objects that the last collection marked and that were there before the recording", n.older);
	put_state(l, "marked-older-bytes", "bytes of them, as the collector rounds them", n.older_sz);
	put_state(l, "marked-older-empty", "those of them that were there before the recording",
		  n.older_empty);
	put_state(l, "marked-older-empty-bytes", "bytes of them, as the collector rounds them", n.older_empty_sz);
	put_state(l, "marked-inherited", "objects that the last collection marked and that a child has from its parent", n.inherited);
	put_state(l, "marked-inherited-bytes", "bytes of them, as the collector rounds them", n.inherited_sz);
	put_state(l, "heaps-not-compared", "collected heaps from before the recording of which no collection was compared with the records",
		  n.uncompared);
	if (attach_sample_gap(l->attach)) {
		put_state(l, "marked-all", "objects that the last collection marked whose marks were all read, sampled or not", n.reached);
		put_state(l, "marked-all-bytes", "bytes of them, as the collector rounds them", n.reached_sz);
		put_state(l, "collections-since", "collections after that one", n.since);
		put_state(l, "heaps-not-read", "collected heaps of which no collection's marks were all read", n.unread);
	}
	put(l, "marks-us", "microseconds spent on reading marks", COUNT_NOTE, cost.total_ns / 1000);
	put(l, "marks-in-part", "collections at which only marks of sampled objects were read", COUNT_NOTE, cost.parts);
	put_state(l, "marks-longest-us", "microseconds that the longest reading of marks took", cost.longest_ns / 1000);
	put_state(l, "judged-longest-us", "microseconds of the processor, at most, to find the dead of a collection and write them",
		  n.longest_ns / 1000);
}

static void put_older(struct live *l, uint64_t now)
{
	const struct older *o;
	if (l->gc.liveness)
		liveness_tell_older(l->gc.liveness, now, l->stopped_ns);
	for (size_t i = 0; (o = catalog_next_older(l->h.catalog, &i));)
		trace_write_older(l->h.writer, o);
}

static void put_stack_ends(struct live *l)
{
	static const char *const names[] = {
#define X(n, id, name, help) [n] = "stack-end-" name,
		STACK_END_LIST(X)
#undef X
	};
	for (int i = 0; i < STACK_END_CNT; i++)
		put(l, names[i], stack_end_help((enum stack_end)i), COUNT_NOTE, l->stacks.ends[i]);
}

static void tell_loss(struct live *l, enum event_kind kind, uint64_t lost, uint64_t now)
{
	uint64_t fresh = lost - l->reported_loss[kind];
	if (!fresh)
		return;
	l->reported_loss[kind] = lost;
	struct event e = { .kind = EVENT_LOSS, .lost_kind = (uint8_t)kind, .time_ns = now, .size = fresh };
	live_write_event(l, &e);
}

void ledger_publish(struct live *l, uint64_t now)
{
	struct probe_stats s;
	if (probe_stats(l->h.probe, &s))
		return;
	put_kernel(l, &s);
	put_calls(l, &s);
	put_own(l, &s);
	put_children(l);
	put_rows(l);
	put_collections(l);
	put_older(l, now);
	put_stack_ends(l);
	tell_loss(l, EVENT_ALLOC,
		  s.n[ALYS_ST_LOST_RING_ALLOC] + s.n[ALYS_ST_LOST_PENDING] + s.n[ALYS_ST_LOST_READ] +
			  s.n[ALYS_ST_LOST_SAMPLED_FULL],
		  now);
	tell_loss(l, EVENT_REALLOC, s.n[ALYS_ST_LOST_RING_REALLOC], now);
	tell_loss(l, EVENT_FREE, s.n[ALYS_ST_LOST_RING_FREE], now);
}

void ledger_cut(struct live *l)
{
	const struct catalog *c = l->h.catalog;
	uint64_t outcomes = catalog_sum(c, COUNT_RECORDED) + catalog_sum(c, COUNT_ASIDE) + catalog_sum(c, COUNT_LOST);
	int64_t under_way = (int64_t)(catalog_sum(c, COUNT_HIT) - outcomes), more = under_way - l->under_way;
	struct count aside = { .name = "under-way", .help = "hits whose outcome was not counted yet when the file ended",
			       .class = COUNT_ASIDE, .value = more > 0 ? (uint64_t)more : 0 };
	struct count hits = { .name = "hits-before-under-way", .help = "hits from before the file whose outcome is in it",
			      .class = COUNT_HIT, .value = more < 0 ? (uint64_t)-more : 0 };
	trace_write_count(l->h.writer, &aside);
	trace_write_count(l->h.writer, &hits);
	l->under_way = under_way;
}
