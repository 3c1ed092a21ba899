/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/upkeep: see upkeep.h. */
#include "monitor/upkeep.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "base/log.h"
#include "monitor/compact.h"
#include "monitor/continuous_state.h"
#include "recorder/metadata.h"
#include "target/proc.h"

#define SETTLE_NS 60000000000ull /* between comparisons of pages and mappings with the kernel's */
#define DEAD_MAX 64              /* exited processes after which the catalog is compacted, at most once a second */
#define IDLE_MAX 256             /* the same for idle stacks */
#define HIT_NS 700               /* cost of a hit outside the BPF programs; docs/overhead.md */
#define EVENT_NS 2000            /* cost of a stack walk and a record; likewise */
#define NAMES_ROOM (16ull << 20)
/* MiB by which memory use varies from start to start. */
#define STARTS_DIFFER 12
#define KEPT 1.5   /* tolerated ratio of overhead to its limit: windows make up for bursts within seconds */
#define SMOOTH_S 5 /* time constant of the exponential average of the overhead */

double upkeep_cpu_s(void)
{
	struct rusage self, children;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	const struct timeval *t[] = { &self.ru_utime, &self.ru_stime, &children.ru_utime, &children.ru_stime };
	double sum = 0;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		sum += (double)t[i]->tv_sec + (double)t[i]->tv_usec / 1e6;
	return sum;
}

void upkeep_apply_interval(struct continuous *c)
{
	c->record.interval = c->limits.interval;
	live_set_interval(&c->live, c->limits.interval);
}

static void take_step(struct continuous *c, enum limits_step step)
{
	if (step == LIMITS_THIN)
		heaps_thin(&c->heaps);
	if (step == LIMITS_THIN || step == LIMITS_COARSEN || step == LIMITS_REFINE)
		upkeep_apply_interval(c);
	if (step == LIMITS_ACCEPT)
		probe_forget_stacks(c->live.h.probe);
	live_refuse_stacks(&c->live, c->limits.refusing);
	if (step == LIMITS_THIN || step == LIMITS_REFUSE)
		malloc_trim(0);
	bool eased = step == LIMITS_REFINE || step == LIMITS_ACCEPT;
	if (step != LIMITS_FINE)
		log_info("%s: one sample every %llu bytes%s",
			 eased || !c->limits.cause ? "memory is available again" : limits_cause_text(c->limits.cause),
			 (unsigned long long)c->limits.interval, c->limits.refusing ? ", no new stacks" : "");
}

/* Reserved for the worker that symbolizes. */
static uint64_t names_reserve(uint64_t limit)
{
	return limit / 8 < NAMES_ROOM ? limit / 8 : NAMES_ROOM;
}

/* Reserved for an HTML report of the largest heap: its blocks as events, a heap rebuilt from them, and the snapshot's rows. */
static uint64_t report_reserve(const struct continuous *c)
{
	uint64_t blocks = 0;
	for (size_t i = 0; i < c->heaps.at_cnt; i++) {
		uint64_t live = heap_totals(c->heaps.at[i]->heap)->live_cnt;
		blocks = live > blocks ? live : blocks;
	}
	/* A clusters_row exists only with windows; without, the report's own data per row is about as large. */
	uint64_t row = sizeof(struct snapshot_row) + sizeof(struct clusters_row);
	return blocks * 2 * sizeof(struct event) + catalog_stacks(c->live.h.catalog) * 2 * row;
}

/* Memory reserved for temporary copies: compaction and profiles copy the catalog. */
uint64_t upkeep_reserved(const struct continuous *c)
{
	uint64_t names = naming_is_busy(c->naming) ? 0 : names_reserve(c->limits.memory_max);
	return catalog_memory(c->live.h.catalog) / 2 * 3 + report_reserve(c) + names;
}

/* 0 while windows keep the overhead within its limit: sampling less would not help. */
static double overhead_to_lower(const struct continuous *c)
{
	struct windows_facts w;
	return windows_facts(c->live.windows, &w) && w.late <= KEPT * w.max ? 0 : c->overhead;
}

void upkeep_limits(struct continuous *c, uint64_t now)
{
	uint64_t memory = footprint_now(&c->memory), grown = memory > c->looked_memory ? memory - c->looked_memory : 0;
	/* Assume that memory grows as much again before the next measurement. */
	struct limits_use use = { .now_ns = now,
				  .memory = memory + grown + upkeep_reserved(c),
				  .overhead = overhead_to_lower(c),
				  .samples = c->samples };
	c->looked_events = c->heaps.events;
	c->looked_memory = memory;
	if (c->on)
		take_step(c, limits_next(&c->limits, &use));
	live_refuse_processes(&c->live, limits_is_full(&c->limits, use.memory));
}

bool upkeep_has_room(void *ctx, const char *path)
{
	const struct continuous *c = ctx;
	return limits_has_room(&c->limits, footprint_now(&c->memory) + upkeep_reserved(c), study_comes_first(path));
}

/* The memory use at startup if the limit were another: maps and ring scale with it. */
static uint64_t least_taken(const struct continuous *c, uint64_t taken, uint64_t limit)
{
	struct probe_config was = { .ring_sz = probe_ring_part(c->record.ring_sz),
				    .interval = c->record.interval,
				    .subjects = record_beside(&c->record) | 1u << record_first(&c->record),
				    .memory = c->limits.memory_max };
	struct probe_config would = was;
	would.memory = limit;
	would.ring_sz = probe_ring_part(probe_ring_share(limit, (uint32_t)c->o->record.ring_sz));
	return taken - probe_sized(&was) + probe_sized(&would);
}

/* Refuses a limit so low that the daemon would reduce sampling from the start. */
int upkeep_check_room(struct continuous *c, uint64_t taken, uint64_t more, struct err *err)
{
	uint64_t wanted = c->limits.memory_max;
	c->limits.memory_least = taken + upkeep_reserved(c) + UPKEEP_FIRST_ROOM;
	while (least_taken(c, taken, wanted) + names_reserve(wanted) + more >= wanted / 100 * LIMITS_PERCENT)
		wanted += 1ull << 20;
	if (wanted == c->limits.memory_max)
		return 0;
	return err_set(err, ENOMEM,
		       "--max-memory of %llu MiB leaves no room: %llu MiB are used before anything is recorded; allow %llu MiB, "
		       "or make --ring smaller",
		       (unsigned long long)c->limits.memory_max >> 20, (unsigned long long)taken >> 20,
		       ((unsigned long long)wanted >> 20) + STARTS_DIFFER);
}

static void count_spent(struct continuous *c)
{
	c->cpu_s = upkeep_cpu_s();
	c->hits = catalog_sum(c->live.h.catalog, COUNT_HIT);
	c->recorded = catalog_sum(c->live.h.catalog, COUNT_RECORDED);
}

/* Symbolization and examination of files run in separate processes. The free memory is divided between them. */
static void set_room(struct continuous *c)
{
	uint64_t room =
		names_reserve(c->limits.memory_max) + limits_room(&c->limits, footprint_now(&c->memory) + upkeep_reserved(c));
	bool examines = study_is_reading(c->live.study);
	if (!naming_is_busy(c->naming))
		naming_set_room(c->naming, examines ? room / 2 : room);
	if (!examines)
		study_set_room(c->live.study, room / 2);
}

void upkeep_begin(struct continuous *c)
{
	c->looked_ns = c->noted_ns = c->idle_ns = c->settled_ns = now_ns();
	c->looked_memory = footprint_now(&c->memory);
	set_room(c);
	count_spent(c);
}

static void check_use(struct continuous *c, uint64_t now)
{
	double seconds = (double)(now - c->looked_ns) / 1e9, cpu_s = c->cpu_s;
	uint64_t hits = c->hits, recorded = c->recorded;
	count_spent(c);
	double percent = 100 / (seconds * get_nprocs()), share = 1 - exp(-seconds / SMOOTH_S);
	/* The counter of recorded events decreases when events are dropped because a disk is full. */
	double events = c->recorded > recorded ? (double)(c->recorded - recorded) : 0;
	double samples = (c->cpu_s - cpu_s + events * EVENT_NS / 1e9) * percent;
	double calls = (double)(c->hits - hits) * HIT_NS / 1e9 * percent;
	c->samples += (samples - c->samples) * share;
	c->overhead += (samples + calls - c->overhead) * share;
	c->looked_ns = now;
	footprint_renew(&c->memory, now, study_is_reading(c->live.study) || naming_is_busy(c->naming));
	metadata_windows(&c->live);
	set_room(c);
	upkeep_limits(c, now);
}

static void compact(struct continuous *c, uint64_t now)
{
	struct compact what = { .live = &c->live, .heaps = &c->heaps };
	/* Under memory pressure, compact even for one process or stack. */
	bool due = c->dead >= DEAD_MAX || c->idle >= IDLE_MAX || (c->limits.cause && (c->dead || c->idle));
	if (!due || now - c->compacted_ns < UPKEEP_NS || profiles_waiting(c->profiles) || naming_is_busy(c->naming))
		return;
	if (!live_recalls_stacks(&c->live)) {
		live_recall_stacks(&c->live);
		c->compacted_ns = now;
		return;
	}
	if (c->live.read_ns < c->compacted_ns || !traces_settle(c->traces, &what))
		return;
	if (!compact_catalog(&what)) {
		traces_follow(c->traces);
		malloc_trim(0);
	}
	c->compacted_ns = now_ns();
	c->dead = c->idle = 0;
}

static void forget_idle(struct continuous *c, uint64_t now)
{
	long n = heaps_forget_idle(&c->heaps);
	c->idle += n > 0 ? (uint64_t)n : 0;
	c->idle_ns = now;
}

static void note_resident(struct continuous *c)
{
	for (size_t i = 0; i < c->heaps.at_cnt; i++) {
		struct heap_of *o = c->heaps.at[i];
		const struct proc *p = catalog_proc(c->live.h.catalog, o->proc);
		o->resident = p ? proc_resident(p->tgid) : 0;
	}
}

/* Otherwise pages that were reclaimed would be resident for ever. */
static void settle_memory(struct continuous *c, uint64_t now)
{
	live_settle(&c->live, now);
	metadata_memory(&c->live);
	c->settled_ns = now;
}

void upkeep_work(struct continuous *c, uint64_t now)
{
	if (now - c->looked_ns >= UPKEEP_NS)
		check_use(c, now);
	if (c->on && now - c->noted_ns >= NOTE_NS) {
		heaps_note(&c->heaps, (double)(now - c->noted_ns) / 1e9);
		note_resident(c);
		c->noted_ns = now;
	}
	if (c->on && c->record.subjects && now - c->settled_ns >= SETTLE_NS)
		settle_memory(c, now);
	if (c->on && (double)(now - c->idle_ns) >= c->o->idle_stacks * 1e9)
		forget_idle(c, now);
	compact(c, now);
}
