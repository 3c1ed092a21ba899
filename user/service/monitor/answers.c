/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/answers: what a continuous recording tells of itself and its processes, see continuous.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/continuous.h"
#include "monitor/continuous_state.h"
#include "monitor/upkeep.h"
#include "recorder/tracker.h"

void continuous_describe(const struct continuous *c, const struct heap_of *o, struct continuous_process *out)
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

int continuous_each(const struct continuous *c, bool beside, int (*fn)(void *ctx, const struct continuous_process *p), void *ctx)
{
	int rc = 0;
	for (size_t i = 0; i < c->heaps.at_cnt && !rc; i++) {
		struct continuous_process p;
		continuous_describe(c, c->heaps.at[i], &p);
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
		.cpu_s = upkeep_cpu_s(),
		.memory = footprint_now(&c->memory),
		.memory_kernel = c->memory.kernel,
		.memory_set_aside = upkeep_reserved(c),
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
