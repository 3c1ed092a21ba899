/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/continuous: see continuous.h. What it tells of itself is in answers.c. */
#include "monitor/continuous.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "calibrate/calibrate.h"
#include "monitor/continuous_state.h"
#include "monitor/upkeep.h"
#include "recorder/metadata.h"
#include "recorder/tracker.h"
#include "target/proc.h"

#define LOOK_EVENTS 512        /* or after so many events */
#define IDLE_MS 250            /* while on: the ring buffer wakes us only when it is a quarter full */
#define FILES_NS 3000000000ull /* how long continuous_on waits for probes on the files in use */
#define FILES_MS 10
#define TICK_NS 10000000ull /* resolution of start times in /proc/PID/stat */

static void end_process(struct continuous *c, struct proc_id proc, enum ending why)
{
	/* An OOM kill is reported even if nothing was recorded of the process. */
	const struct heap_of *o = why == ENDING_OUT_OF_MEMORY ? heaps_put(&c->heaps, proc) : heaps_get(&c->heaps, proc);
	struct continuous_process p;
	const struct proc *of = catalog_proc(c->live.h.catalog, proc);
	bool first = !of || !of->subject;
	if (o && c->ops.ending) {
		continuous_describe(c, o, &p);
		c->ops.ending(c->ops.ctx, &p, why);
	}
	c->ended[why] += first;
	heaps_drop(&c->heaps, proc);
	c->dead += first;
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
		upkeep_limits(c, now_ns());
	return rc;
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
	l->room = (struct live_room){ c, upkeep_has_room };
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
		footprint_look(&c->memory, now_ns());
		rc = upkeep_check_room(c, footprint_now(&c->memory), UPKEEP_FIRST_ROOM, err);
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
	footprint_look(&c->memory, now_ns());
	if (!live_stacks(&c->live) && upkeep_check_room(c, footprint_now(&c->memory), 0, err))
		return -ENOMEM;
	profiles_flush(c->profiles);
	forget_processes(c);
	upkeep_begin(c);
	l->started_ns = c->looked_ns;
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
	upkeep_apply_interval(c);
}

size_t continuous_fds(const struct continuous *c, struct pollfd *out)
{
	size_t n = 0;
	out[n++] = (struct pollfd){ .fd = naming_fd(c->naming), .events = POLLIN };
	if (!c->on)
		return n;
	n += live_fds(&c->live, out + n);
	out[n++] = (struct pollfd){ .fd = attach_fd(c->live.attach), .events = POLLIN };
	return n;
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

int continuous_work(struct continuous *c, struct err *err)
{
	int ms = c->on ? record(c, err) : (int)(UPKEEP_NS / 1000000);
	naming_collect(c->naming);
	if (profiles_work(c->profiles))
		ms = 0;
	traces_work(c->traces);
	upkeep_work(c, now_ns());
	return ms;
}
