/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/continuous: see continuous.h. */
#include "monitor/continuous.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "calibrate/calibrate.h"
#include "monitor/compact.h"
#include "monitor/footprint.h"
#include "recorder/metadata.h"
#include "recorder/tracker.h"
#include "target/proc.h"

#define LOOK_NS 1000000000ull    /* between measurements of memory and overhead */
#define LOOK_EVENTS 512          /* or after so many events */
#define NOTE_NS 5000000000ull    /* between points of the history of live bytes */
#define SETTLE_NS 60000000000ull /* between comparisons of pages and mappings with the kernel's */
#define IDLE_MS 250              /* while on: the ring buffer wakes us only when it is a quarter full */
#define FILES_NS 3000000000ull   /* how long continuous_on waits for probes on the files in use */
#define FILES_MS 10
#define DEAD_MAX 64         /* exited processes after which the catalog is compacted, at most once a second */
#define IDLE_MAX 256        /* the same for idle stacks */
#define HIT_NS 700          /* cost of a hit outside the BPF programs; docs/overhead.md */
#define EVENT_NS 2000       /* cost of a stack walk and a record; likewise */
#define TICK_NS 10000000ull /* resolution of start times in /proc/PID/stat */
#define NAMES_ROOM (16ull << 20)
/* MiB by which memory use varies from start to start. */
#define STARTS_DIFFER 12
#define FIRST_ROOM (8ull << 20) /* for the first process: unwind rows and other data of its modules */
#define KEPT 1.5                /* tolerated ratio of overhead to its limit: windows make up for bursts within seconds */
#define SMOOTH_S 5              /* time constant of the exponential average of the overhead */

struct continuous {
	const struct continuous_options *o;
	struct continuous_ops ops;
	struct live live;
	struct record_options record;
	struct consumer out;
	struct heaps heaps;
	struct naming *naming;
	struct profiles *profiles;
	struct traces *traces;
	struct limits limits;
	struct select off; /* selects nobody */
	bool on;
	uint64_t begun_ns, on_since_ns, on_ns; /* on_ns: total time on, without the current period */
	uint64_t ended[ENDING_CNT];
	uint64_t *begun; /* start time of each of record.pids, 0 = there was no such process */
	uint64_t looked_ns, noted_ns, idle_ns, settled_ns, compacted_ns, dead, idle;
	uint64_t looked_events, looked_memory;
	struct footprint memory;
	double cpu_s, overhead, samples; /* as last measured; overhead and samples in percent of all CPUs */
	uint64_t hits, recorded;
};

static double cpu_seconds(void)
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

static void describe(const struct continuous *c, const struct heap_of *o, struct continuous_process *out)
{
	const struct proc *p = catalog_proc(c->live.h.catalog, o->proc);
	struct account a = account_read(c->live.h.probe, p ? p->tgid : 0, o->events);
	const struct totals t = heap_estimate(o->heap);
	*out = (struct continuous_process){
		.tgid = p ? p->tgid : 0,
		.proc = o->proc,
		.subject = o->subject,
		.comm = p ? p->comm : "",
		.attributes = p ? p->attributes : "",
		.exe = p ? p->exe : "",
		.start_ns = p ? p->start_ns : 0,
		.live = t.est_live_sz,
		.live_error = sqrt(t.var[LIVE_SZ]),
		.rate = o->rate,
		.live_below = t.live_cnt ? 0 : unsampled_below(live_interval(&c->live)),
		.events = a.recorded,
		.lost = account_lost(&a),
		.history = o->history,
		.history_cnt = o->history_cnt,
		.history_step_s = NOTE_NS / 1e9,
		.resident = o->resident,
		.begun_ns = o->begun_ns,
	};
	account_lost_by(&a, out->lost_by, sizeof(out->lost_by));
	if (p)
		catalog_build_id(c->live.h.catalog, p, out->build_id);
}

static void end_process(struct continuous *c, struct proc_id proc, enum ending why)
{
	/* An OOM kill is reported even if nothing was recorded of the process. */
	const struct heap_of *o = why == ENDING_OUT_OF_MEMORY ? heaps_put(&c->heaps, proc) : heaps_get(&c->heaps, proc);
	struct continuous_process p;
	const struct proc *of = catalog_proc(c->live.h.catalog, proc);
	bool first = !of || !of->subject;
	if (o && c->ops.ending) {
		describe(c, o, &p);
		c->ops.ending(c->ops.ctx, &p, why);
	}
	c->ended[why] += first;
	heaps_drop(&c->heaps, proc);
	c->dead += first;
}

static void apply_interval(struct continuous *c)
{
	c->record.interval = c->limits.interval;
	live_set_interval(&c->live, c->limits.interval);
}

static void take_step(struct continuous *c, enum limits_step step)
{
	if (step == LIMITS_THIN)
		heaps_thin(&c->heaps);
	if (step == LIMITS_THIN || step == LIMITS_COARSEN || step == LIMITS_REFINE)
		apply_interval(c);
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
	return blocks * 2 * sizeof(struct event) + live_stacks(&c->live) * 2 * row;
}

/* Memory reserved for temporary copies: compaction and profiles copy the catalog. */
static uint64_t set_by(const struct continuous *c)
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

static void keep_limits(struct continuous *c, uint64_t now)
{
	uint64_t memory = footprint_now(&c->memory), grown = memory > c->looked_memory ? memory - c->looked_memory : 0;
	/* Assume that memory grows as much again before the next measurement. */
	struct limits_use use = {
		.now_ns = now, .memory = memory + grown + set_by(c), .overhead = overhead_to_lower(c), .samples = c->samples
	};
	c->looked_events = c->heaps.events;
	c->looked_memory = memory;
	if (c->on)
		take_step(c, limits_next(&c->limits, &use));
	live_refuse_processes(&c->live, limits_is_full(&c->limits, use.memory));
}

static int on_event(void *ctx, const struct event *e)
{
	struct continuous *c = ctx;
	traces_event(c->traces, e);
	if (e->kind == EVENT_RATE) {
		metadata_rate(&c->live);
		return 0;
	}
	if (e->kind == EVENT_EXIT || e->kind == EVENT_EXEC) {
		end_process(c, e->proc, c->live.dropping ? ENDING_LEFT : ending_of(e));
		return 0;
	}
	/* Forks are ignored: each process has its own heap. */
	int rc = e->kind == EVENT_FORK ? 0 : heaps_apply(&c->heaps, e);
	if (c->heaps.events - c->looked_events >= LOOK_EVENTS)
		keep_limits(c, now_ns());
	return rc;
}

static bool has_room(void *ctx, const char *path)
{
	const struct continuous *c = ctx;
	return limits_has_room(&c->limits, footprint_now(&c->memory) + set_by(c), study_comes_first(path));
}

static int on_definition(void *ctx, const struct definition *d)
{
	return traces_define(((struct continuous *)ctx)->traces, d);
}

static void on_tick(void *ctx, uint64_t now_ns)
{
	traces_tick(((struct continuous *)ctx)->traces, now_ns);
}

static uint64_t on_dropped(void *ctx)
{
	return traces_dropped(((struct continuous *)ctx)->traces);
}

/* Derives the recorder's options from the daemon's. */
static void set_record(struct continuous *c)
{
	const struct select *s = &c->o->select;
	c->record = c->o->record;
	c->record.no_free_stacks = true;
	c->record.live = true;
	c->record.memory = c->o->max_memory;
	c->record.ring_sz = probe_ring_share(c->o->max_memory, (uint32_t)c->o->record.ring_sz);
	if (c->record.ring_sz < c->o->record.ring_sz)
		log_info("the ring has %u KiB, its share of --max-memory", (unsigned int)(c->record.ring_sz >> 10));
	/* Groups of processes that fork often use shared links, and the BPF programs add their children. */
	c->record.follow |= s->all || s->cgroups.at_cnt || s->users.at_cnt;
}

static int open_modules(struct continuous *c, struct err *err)
{
	struct live *l = &c->live;
	l->room = (struct live_room){ c, has_room };
	c->heaps.catalog = &l->h.catalog;
	int rc = live_open(l, &c->record, &c->o->select, err);
	if (!rc)
		rc = calibrate_prepare(err);
	if (!rc)
		rc = probe_ready(l->h.probe, err);
	if (!rc)
		rc = probe_exclude(l->h.probe, (uint32_t)getpid(), err);
	if (!rc)
		rc = probe_listen(l->h.probe, false, err);
	live_untrack(l);
	c->naming = rc ? NULL : naming_new(&l->h, err);
	c->profiles = c->naming ? profiles_new(l, &c->heaps, c->naming, &c->o->skip) : NULL;
	c->traces = c->profiles ? traces_new(l, &c->heaps, c->naming) : NULL;
	if (rc)
		return rc;
	if (!c->traces)
		return err_set(err, ENOMEM, "out of memory");
	c->out =
		(struct consumer){ .ctx = c, .event = on_event, .define = on_definition, .tick = on_tick, .dropped = on_dropped };
	l->h.out = &c->out;
	metadata_begin(l);
	return 0;
}

/* Large tables in mappings of their own: mremap grows them without a copy, and free returns them to the kernel. */
static void keep_tables_apart(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

/* The memory use at startup if the limit were another: maps and ring scale with it. */
static uint64_t least_taken(const struct continuous *c, uint64_t taken, uint64_t limit)
{
	struct probe_config was = { .ring_sz = (uint32_t)c->record.ring_sz,
				    .interval = c->record.interval,
				    .subjects = record_beside(&c->record) | 1u << record_first(&c->record),
				    .memory = c->limits.memory_max };
	struct probe_config would = was;
	would.memory = limit;
	would.ring_sz = probe_ring_share(limit, (uint32_t)c->o->record.ring_sz);
	return taken - probe_sized(&was) + probe_sized(&would);
}

/* Refuses a limit so low that the daemon would reduce sampling from the start. */
static int check_room(struct continuous *c, uint64_t taken, uint64_t more, struct err *err)
{
	uint64_t wanted = c->limits.memory_max;
	c->limits.memory_least = taken + set_by(c) + FIRST_ROOM;
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

/* Start time of the process, to detect that its pid was reused; 0 = no such process. */
static uint64_t begin_of(uint32_t tgid)
{
	struct proc_facts f;
	return proc_read(tgid, &f, NULL) ? 0 : f.start_ns;
}

static int note_begins(struct continuous *c, struct err *err)
{
	c->begun = calloc(c->record.pids_cnt + 1, sizeof(*c->begun));
	if (!c->begun)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < c->record.pids_cnt; i++)
		c->begun[i] = begin_of(c->record.pids[i]);
	return 0;
}

struct continuous *continuous_new(const struct continuous_options *o, const struct continuous_ops *ops, struct err *err)
{
	struct continuous *c = calloc(1, sizeof(*c));
	if (!c) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	probe_drop_admin();
	keep_tables_apart();
	c->o = o;
	c->ops = *ops;
	c->begun_ns = now_ns();
	set_record(c);
	c->limits = (struct limits){ .memory_max = o->max_memory, .overhead_max = record_overhead(&c->record) };
	limits_set_interval(&c->limits, o->record.interval);
	int rc = note_begins(c, err) || select_check(&o->select, err) || open_modules(c, err);
	if (!rc) {
		/* The memory for loading the BPF programs is returned to the kernel before the footprint is measured. */
		malloc_trim(0);
		footprint_look(&c->memory);
		rc = check_room(c, footprint_now(&c->memory), FIRST_ROOM, err);
	}
	if (!rc)
		return c;
	continuous_free(c);
	return NULL;
}

void continuous_free(struct continuous *c)
{
	if (!c)
		return;
	continuous_off(c);
	profiles_free(c->profiles);
	traces_free(c->traces);
	c->live.h.out = NULL;
	naming_free(c->naming);
	heaps_free(&c->heaps);
	live_close(&c->live);
	free(c->begun);
	free(c);
}

bool continuous_can_split(const struct continuous *c)
{
	return probe_tier(c->live.h.probe) != PROBE_TIER_PERF;
}

/* While tracing was off, processes allocated and freed unseen: start from nothing. */
static void forget_processes(struct continuous *c)
{
	live_forget_processes(&c->live);
	probe_exclude(c->live.h.probe, (uint32_t)getpid(), NULL);
	heaps_free(&c->heaps);
}

/* Two readings of one process's start time differ by less than a tick. */
static int refuse_successor(const struct continuous *c, size_t i, struct err *err)
{
	uint32_t tgid = c->record.pids[i];
	uint64_t now = begin_of(tgid);
	if (!now || !c->begun[i] || now < c->begun[i] + TICK_NS)
		return 0;
	return err_set(err, ESRCH,
		       "process %u has been replaced by another process of that number: `alys-bpf ctl add %u` adds it", tgid,
		       tgid);
}

/* Each event traced in the daemon would cause another. */
static int refuse_own(uint32_t tgid, struct err *err)
{
	return tracker_is_own(tgid) ? err_set(err, EINVAL, "process %u is part of the daemon, which does not trace itself", tgid)
				    : 0;
}

/* Pids that no longer exist are an error only if there is nothing else to trace. */
static int add_pids(struct continuous *c, struct err *err)
{
	size_t failed = 0;
	int rc = 0;
	for (size_t i = 0; i < c->record.pids_cnt; i++) {
		struct err why;
		uint32_t tgid = c->record.pids[i];
		bool own = refuse_own(tgid, &why) || refuse_successor(c, i, &why);
		if (!own)
			tracker_include(c->live.tracker, tgid);
		if (!own && (target_find(c->live.h.targets, tgid).n || !live_add(&c->live, tgid, &why)))
			continue;
		if (++failed == c->record.pids_cnt && !select_is_open(&c->o->select))
			rc = err_set(err, why.code, "%s", why.text);
		else
			log_warn("%s", why.text);
	}
	return rc;
}

static void count_spent(struct continuous *c)
{
	c->cpu_s = cpu_seconds();
	c->hits = catalog_sum(c->live.h.catalog, COUNT_HIT);
	c->recorded = catalog_sum(c->live.h.catalog, COUNT_RECORDED);
}

/* Symbolization and examination of files run in separate processes. The free memory is divided between them. */
static void set_room(struct continuous *c)
{
	uint64_t room = names_reserve(c->limits.memory_max) + limits_room(&c->limits, footprint_now(&c->memory) + set_by(c));
	bool examines = study_is_reading(c->live.study);
	if (!naming_is_busy(c->naming))
		naming_set_room(c->naming, examines ? room / 2 : room);
	if (!examines)
		study_set_room(c->live.study, room / 2);
}

/* "Tracing is on" is reported when probes are attached, except in files that take longer than FILES_NS. */
static void await_files(struct continuous *c)
{
	struct pollfd found = { .fd = study_fd(c->live.study), .events = POLLIN };
	uint64_t until = now_ns() + FILES_NS;
	while (c->on && !c->live.abandoned && study_is_busy(c->live.study) && now_ns() < until) {
		poll(&found, 1, FILES_MS);
		live_step(&c->live);
	}
}

int continuous_on(struct continuous *c, struct err *err)
{
	struct live *l = &c->live;
	if (c->on)
		return 0;
	malloc_trim(0);
	footprint_look(&c->memory);
	if (!live_stacks(&c->live) && check_room(c, footprint_now(&c->memory), 0, err))
		return -ENOMEM;
	profiles_flush(c->profiles);
	forget_processes(c);
	c->looked_ns = c->noted_ns = c->idle_ns = c->settled_ns = l->started_ns = now_ns();
	c->looked_memory = footprint_now(&c->memory);
	set_room(c);
	count_spent(c);
	l->warned_silent = true; /* no allocations at all is ordinary for a daemon */
	l->abandoned = false;
	int rc = live_track(l, err) ? -ENOMEM : probe_listen(l->h.probe, true, err);
	if (rc)
		return rc;
	windows_resume(l->windows);
	probe_start(l->h.probe);
	c->on = true;
	c->on_since_ns = now_ns();
	rc = tracker_scan(l->tracker, err);
	if (!rc)
		rc = add_pids(c, err);
	await_files(c);
	metadata_sampling(l);
	metadata_liveness(l);
	if (rc)
		continuous_off(c);
	return rc;
}

void continuous_off(struct continuous *c)
{
	struct live *l = &c->live;
	if (!c->on)
		return;
	c->on = false;
	c->on_ns += now_ns() - c->on_since_ns;
	windows_pause(l->windows);
	probe_stop(l->h.probe);
	probe_detach(l->h.probe, 0);
	probe_listen(l->h.probe, false, NULL);
	attach_reset(l->attach);
	live_drain(l);
	live_publish(l, now_ns());
	live_untrack(l);
	probe_forget_blocks(l->h.probe);
}

int continuous_add(struct continuous *c, uint32_t tgid, struct err *err)
{
	if (!c->on)
		return err_set(err, EAGAIN, "tracing is off: switch it on first with `alys-bpf ctl on`");
	live_end_reused(&c->live, tgid);
	if (target_find(c->live.h.targets, tgid).n && !tracker_is_excluded(c->live.tracker, tgid))
		return 0;
	int rc = refuse_own(tgid, err);
	if (rc)
		return rc;
	tracker_include(c->live.tracker, tgid);
	probe_remove_target(c->live.h.probe, tgid); /* it may have been excluded */
	return live_add(&c->live, tgid, err);
}

int continuous_remove(struct continuous *c, uint32_t tgid, struct err *err)
{
	if (!c->on || !target_find(c->live.h.targets, tgid).n)
		return err_set(err, ESRCH, "process %u is not traced: `alys-bpf ctl status` lists those that are", tgid);
	tracker_exclude(c->live.tracker, tgid);
	live_remove(&c->live, tgid);
	/* The caller may verify that the probes are gone. */
	probe_await_detached();
	return c->live.h.select->all ? probe_exclude(c->live.h.probe, tgid, err) : 0;
}

void continuous_set_interval(struct continuous *c, uint64_t interval)
{
	limits_set_interval(&c->limits, interval);
	apply_interval(c);
}

size_t continuous_fds(const struct continuous *c, struct pollfd *out)
{
	size_t n = 0;
	out[n++] = (struct pollfd){ .fd = naming_fd(c->naming), .events = POLLIN };
	if (!c->on)
		return n;
	out[n++] = (struct pollfd){ .fd = live_ring_fd(&c->live), .events = POLLIN };
	out[n++] = (struct pollfd){ .fd = tracker_fd(c->live.tracker), .events = POLLIN };
	out[n++] = (struct pollfd){ .fd = attach_fd(c->live.attach), .events = POLLIN };
	out[n++] = (struct pollfd){ .fd = study_fd(c->live.study), .events = POLLIN };
	return n;
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
	footprint_look(&c->memory);
	metadata_windows(&c->live);
	set_room(c);
	keep_limits(c, now);
}

static void compact(struct continuous *c, uint64_t now)
{
	struct compact what = { .live = &c->live, .heaps = &c->heaps };
	/* Under memory pressure, compact even for one process or stack. */
	bool due = c->dead >= DEAD_MAX || c->idle >= IDLE_MAX || (c->limits.cause && (c->dead || c->idle));
	if (!due || now - c->compacted_ns < LOOK_NS || profiles_waiting(c->profiles) || naming_is_busy(c->naming))
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

static int record(struct continuous *c, struct err *err)
{
	struct live *l = &c->live;
	int ms = live_step(l);
	if (!l->abandoned)
		return ms < 0 || ms > IDLE_MS ? IDLE_MS : ms;
	continuous_off(c);
	return err_set(err, ENOMEM, "out of memory: tracing is off now, `alys-bpf ctl on` starts again");
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

int continuous_work(struct continuous *c, struct err *err)
{
	int ms = c->on ? record(c, err) : (int)(LOOK_NS / 1000000);
	uint64_t now = now_ns();
	naming_collect(c->naming);
	if (profiles_work(c->profiles))
		ms = 0;
	traces_work(c->traces);
	if (now - c->looked_ns >= LOOK_NS)
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
	return ms;
}

int continuous_each(const struct continuous *c, bool beside, int (*fn)(void *ctx, const struct continuous_process *p), void *ctx)
{
	int rc = 0;
	for (size_t i = 0; i < c->heaps.at_cnt && !rc; i++) {
		struct continuous_process p;
		describe(c, c->heaps.at[i], &p);
		if (p.tgid && (beside || !p.subject))
			rc = fn(ctx, &p);
	}
	return rc;
}

struct proc_id continuous_find(const struct continuous *c, uint32_t tgid)
{
	return target_find(c->live.h.targets, tgid);
}

int continuous_choose(const struct continuous *c, uint32_t shown, uint32_t tgid, struct heap_choice *out, struct err *err)
{
	const struct catalog *all = c->live.h.catalog;
	enum subject s = shown ? (enum subject)(shown - 1) : catalog_subject(all);
	*out = (struct heap_choice){ .proc = continuous_find(c, tgid) };
	if (tgid && !out->proc.n)
		return err_set(err, ENOENT, "process %u is not traced", tgid);
	if (!catalog_has_subject(all, s))
		return err_set(err, ENOENT, "%s are not recorded: --rss, --maps and --beside of the daemon say what is",
			       subject_name(s));
	out->subject = s == catalog_subject(all) ? 0 : (uint8_t)s;
	if (tgid)
		out->proc = target_heap(c->live.h.targets, out->proc, s);
	return 0;
}

bool continuous_is_there(const struct continuous *c, uint32_t tgid)
{
	return live_has(&c->live, tgid);
}

int continuous_profile(struct continuous *c, const struct profile_request *r, struct err *err)
{
	if (r->proc.n)
		heaps_put(&c->heaps, r->proc); /* a process without allocations so far has an empty profile */
	return profiles_ask(c->profiles, r, err);
}

void continuous_forget(struct continuous *c, const void *caller)
{
	profiles_forget(c->profiles, caller);
}

void continuous_flush(struct continuous *c)
{
	profiles_flush(c->profiles);
	traces_flush(c->traces);
}

int continuous_record(struct continuous *c, int fd, const struct trace_end *end, struct err *err)
{
	if (c->on)
		live_publish(&c->live, now_ns());
	return traces_turn(c->traces, fd, end, err);
}

uint64_t continuous_recorded(const struct continuous *c, uint64_t *bytes)
{
	return traces_size(c->traces, bytes);
}

struct heap_mark *continuous_mark(struct continuous *c, const struct heap_choice *of)
{
	const struct proc_id proc = of->proc;
	const struct proc *p = catalog_proc(c->live.h.catalog, proc);
	const struct heap_of *o = proc.n ? heaps_put(&c->heaps, proc) : NULL; /* it may have allocated nothing yet */
	struct account now = account_read(c->live.h.probe, p ? p->tgid : 0, o ? o->events : 0);
	struct heap_mark *m = proc.n ? heaps_mark(&c->heaps, proc) : heaps_mark_all(&c->heaps, of->subject);
	if (m)
		heap_mark_note(m, &now);
	return m;
}

const struct catalog *continuous_ledger(struct continuous *c)
{
	if (c->on)
		live_publish(&c->live, now_ns());
	return c->live.h.catalog;
}

/* Why the sampling interval is larger than requested. */
static enum limits_cause cause_of(const struct continuous *c)
{
	return c->limits.cause ?: live_interval(&c->live) > c->limits.interval ? CAUSE_READER : CAUSE_NONE;
}

void continuous_status(const struct continuous *c, struct continuous_status *out)
{
	const struct live *l = &c->live;
	struct probe_stats s = { 0 };
	struct tracker_counts r = { 0 };
	struct examinations_counts n = study_counts(l->study);
	probe_stats(l->h.probe, &s);
	if (l->tracker)
		r = tracker_counts(l->tracker);
	*out = (struct continuous_status){
		.on = c->on,
		.rescans = c->on && tracker_fd(l->tracker) < 0,
		.interval = live_interval(l),
		.interval_wanted = c->limits.interval_wanted,
		.cause = cause_of(c),
		.noted = record_is_noted(&c->record),
		.no_frees = c->record.no_frees,
		.processes = target_count(l->h.targets),
		.files = attach_files(l->attach),
		.examined = attach_facts(l->attach)->examined,
		.closed_files = target_closed_files(l->h.targets),
		.links = s.links,
		.sites = s.sites,
		.cpu_s = cpu_seconds(),
		.memory = footprint_now(&c->memory),
		.memory_kernel = c->memory.kernel,
		.memory_set_by = set_by(c),
		.memory_max = c->limits.memory_max,
		.overhead = c->overhead,
		.refused_stacks = live_refused_stacks(l),
		.thinned = c->heaps.thinned,
		.workers_failed = naming_failures(c->naming),
		.unseen = r.unseen,
		.refused_processes = r.refused,
		.waiting = profiles_waiting(c->profiles),
		.recording_s = (double)(c->on_ns + (c->on ? now_ns() - c->on_since_ns : 0)) / 1e9,
		.age_s = (double)(now_ns() - c->begun_ns) / 1e9,
		.given_up = n.given_up,
		.to_examine = n.waiting,
	};
	memcpy(out->ended, c->ended, sizeof(out->ended));
	out->windowed = windows_facts(l->windows, &out->windows);
}

void continuous_exactness(struct continuous *c, struct exactness *out)
{
	*out = (struct exactness){ 0 };
	if (c->on)
		live_exactness(&c->live, out);
}
