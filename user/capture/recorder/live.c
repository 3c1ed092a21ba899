/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/live: see live.h. */
#include "recorder/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access/pidns.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "counting/counting.h"
#include "governor/windows.h"
#include "recorder/tracker.h"
#include "resident/resident_memory.h"
#include "target/select.h"

/* The BPF programs wake the reader only when a quarter of the ring is full, so the ring is polled. */
#define POLL_MS 10
/* Pause between two readings of /proc/PID/maps for addresses in no known mapping. */
#define MAPS_PAUSE_NS 5000000ull
#define TICK_NS 250000000ull
#define SILENCE_NS 3000000000ull

static struct proc_id proc_of(struct live *l, uint32_t tgid)
{
	if (l->last.tgid != tgid || !l->last.of.proc.n) {
		l->last.tgid = tgid;
		l->last.of.proc = target_find(l->h.targets, tgid);
		if (!l->last.of.proc.n && l->tracker)
			l->last.of.proc = tracker_add_unknown(l->tracker, tgid);
		l->last.of.epoch = target_epoch(l->h.targets, l->last.of.proc);
	}
	return l->last.of.proc;
}

/* Reads the kernel's mapping reports unless read since that time: all mappings made before it have been reported by now. */
static void read_mappings_until(struct live *l, uint64_t time_ns)
{
	if (time_ns <= l->heard_ns || !l->tracker)
		return;
	l->heard_ns = now_ns();
	tracker_read_reports(l->tracker);
}

/* The record's process, with its mappings as of that time. */
static struct proc_id proc_at(struct live *l, const struct intake_who *who)
{
	read_mappings_until(l, who->time_ns);
	if (who->time_ns >= target_due(l->h.targets)) {
		target_settle(l->h.targets, who->time_ns);
		l->last.of.proc.n = 0;
	}
	return proc_of(l, who->tgid);
}

void live_write_event(struct live *l, const struct event *e)
{
	if (consumer_event(l->h.out, e) == -ENOMEM)
		l->abandoned = true;
}

static void on_made(void *ctx, const struct event *e)
{
	live_write_event(ctx, e);
}

static void on_event(void *ctx, const struct intake_who *who, uint64_t stack_hash, struct event *e)
{
	struct live *l = ctx;
	e->proc = target_heap(l->h.targets, proc_at(l, who), who->subject);
	if (!e->proc.n) {
		l->stats.foreign++;
		return;
	}
	if (stack_hash)
		e->stack = stacks_find(&l->stacks, &l->last.of, stack_hash);
	l->stats.unknown_stacks += stack_hash && !e->stack.n;
	windows_weigh(l->windows, e);
	l->stats.written[who->subject][e->kind]++;
	if (who->subject == SUBJECT_ALLOCATIONS ? gcwatch_event(&l->gc, who->tgid, e) : live_memory_comes(l, who->subject, e))
		l->abandoned = true;
	live_write_event(l, e);
}

static void on_name(void *ctx, const struct intake_name *n)
{
	struct live *l = ctx;
	if (!l->stacks.refusing)
		l->abandoned |= erlang_name(&l->erlang, proc_at(l, &n->who), n) != 0;
}

static void on_range(void *ctx, const struct intake_range *r)
{
	struct live *l = ctx;
	const struct intake_who *who = &r->who;
	const struct proc_id heap = target_heap(l->h.targets, proc_at(l, who), who->subject);
	const struct resident_range g = { heap, who->tid, who->time_ns, r->start, r->end, r->enter_ns };
	if (!g.proc.n) {
		l->stats.foreign++;
		return;
	}
	l->stats.written[who->subject][EVENT_FREE]++;
	if (live_memory_goes(l, &g, r))
		l->abandoned = true;
}

static void on_collection(void *ctx, const struct intake_collection *c)
{
	struct live *l = ctx;
	struct event e = {
		.kind = EVENT_GC,
		.flags = EVENT_F_GC,
		.proc = proc_at(l, &c->who),
		.tid = c->who.tid,
		.time_ns = c->who.time_ns,
		.enter_ns = c->begun_ns ?: c->marked_ns,
		.gc_no = c->gc_no,
	};
	if (c->stack_hash)
		e.stack = stacks_find(&l->stacks, &l->last.of, c->stack_hash);
	if (e.proc.n && gcwatch_collection(&l->gc, c, &e))
		l->abandoned = true;
}

void live_exactness(struct live *l, struct exactness *out)
{
	gcwatch_exactness(&l->gc, attach_facts(l->attach)->collected, out);
}

static void refresh_maps(struct live *l, struct proc_id id, uint64_t until_ns)
{
	uint64_t now = now_ns();
	if (now - l->last_maps_ns < MAPS_PAUSE_NS)
		return;
	target_read_maps(l->h.targets, id, until_ns, NULL);
	l->last_maps_ns = now_ns();
}

static bool resolve_all(struct live *l, struct proc_id id, const struct intake_stack *s, struct frame *out)
{
	bool all = true;
	for (uint32_t i = 0; i < s->n; i++)
		all &= target_resolve(l->h.targets, id, s->ips[i], &out[i]);
	return all;
}

/* Uses the kernel's mapping reports first, then /proc/PID/maps. */
static void resolve(struct live *l, struct proc_id proc, const struct intake_stack *s, struct frame *out)
{
	if (resolve_all(l, proc, s, out))
		return;
	tracker_read_reports(l->tracker);
	target_settle_one(l->h.targets, proc, s->who.time_ns);
	if (resolve_all(l, proc, s, out))
		return;
	refresh_maps(l, proc, s->who.time_ns);
	l->stats.unresolved += !resolve_all(l, proc, s, out);
}

static void on_stack(void *ctx, const struct intake_stack *s)
{
	struct live *l = ctx;
	struct frame frames[ALYS_MAX_FRAMES];
	char room[LIVE_TYPE_LEN];
	struct proc_id proc = proc_at(l, &s->who);
	if (!proc.n || !s->n || s->n > ALYS_MAX_FRAMES)
		return;
	if (!stacks_want(&l->stacks, &l->last.of, s->hash))
		return;
	resolve(l, proc, s, frames);
	l->last.of.epoch = target_epoch(l->h.targets, proc);
	const struct stack found = { .end = stack_ends_of(&l->stack_ends, s, frames),
				     .n = s->n,
				     .frames = frames,
				     .type = live_type_at(l, s, frames, room) };
	stacks_put(&l->stacks, &l->last.of, s->hash, &found);
}

/* To each heap of the process. */
static void write_mark(struct live *l, struct event e)
{
	const struct proc_id proc = e.proc;
	for (enum subject s = 0; s < SUBJECT_CNT; s++) {
		e.proc = target_heap(l->h.targets, proc, s);
		if (record_has(l->h.o, s))
			live_write_event(l, &e);
	}
}

static void write_exit(struct live *l, struct proc_id proc, const struct intake_who *who, uint64_t status)
{
	struct event e = { .kind = EVENT_EXIT, .proc = proc, .tid = who->tid, .time_ns = who->time_ns };
	e.flags = (reaper_take_victim(&l->reaper, proc) ? EVENT_F_OUT_OF_MEMORY : 0) |
		  (status & ALYS_EXIT_STATUS ? EVENT_F_STATUS : 0);
	e.size = (uint32_t)status;
	write_mark(l, e);
}

static void on_exec(struct live *l, const struct intake_who *who, uint64_t program)
{
	if (l->h.counting)
		entries_exec(&l->entries, who->tgid, program);
	const struct proc_id old = target_find(l->h.targets, who->tgid);
	gcwatch_gone(&l->gc, old, who->tgid, who->time_ns);
	write_mark(l, (struct event){ .kind = EVENT_EXEC, .proc = old, .tid = who->tid, .time_ns = who->time_ns });
	live_memory_ends(l, old);
	attach_exec(l->attach, who->tgid);
	struct proc_id id = target_exec(l->h.targets, who->tgid, who->time_ns);
	if (!id.n) {
		l->abandoned = true;
		return;
	}
	target_read_maps(l->h.targets, id, who->time_ns, NULL);
	live_memory_begins(l, id, who->tgid);
}

/*
 * If the tgid has been reused, calls are kept: they may be the new process', and in an exact recording calls have no
 * time.
 */
static void forget_calls(struct live *l, const struct map *ended)
{
	struct map gone = { 0 };
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(ended, &i));) {
		if (!target_find(l->h.targets, (uint32_t)s->key).n)
			map_put(&gone, s->key);
	}
	if (gone.count)
		probe_forget_calls_of(l->h.probe, &gone);
	map_free(&gone);
}

/* Removes the sampled blocks and pending calls of ended processes from the BPF maps. */
static void sweep_ended(struct live *l, uint64_t now)
{
	struct map ended;
	if (!reaper_sweep(&l->reaper, now, &ended))
		return;
	if (l->h.o->interval || l->h.o->min_size)
		probe_forget_blocks_of(l->h.probe, &ended);
	forget_calls(l, &ended);
	map_free(&ended);
}

/* status: with ALYS_EXIT_STATUS, or 0 if unknown. */
void live_ends(struct live *l, const struct intake_who *who, uint64_t status)
{
	struct proc_id proc = target_find(l->h.targets, who->tgid);
	reaper_note(&l->reaper, who->tgid, who->time_ns);
	if (!proc.n)
		return;
	if (l->h.counting)
		entries_end(&l->entries, who->tgid);
	gcwatch_gone(&l->gc, proc, who->tgid, who->time_ns);
	windows_process_ends(l->windows, who->tgid);
	write_exit(l, proc, who, status);
	live_memory_ends(l, proc);
	target_gone(l->h.targets, who->tgid);
	tables_drop_mappings(probe_tables(l->h.probe), who->tgid);
	attach_forget(l->attach, who->tgid);
	erlang_forget(&l->erlang, who->tgid);
}

static void on_miss(struct live *l, const struct intake_who *who)
{
	struct proc_id proc = proc_of(l, who->tgid);
	if (proc.n)
		refresh_maps(l, proc, who->time_ns);
	l->last.of.proc.n = 0;
}

/* Its place among the events separates those before the change of mappings from those after it. */
static void on_libraries(struct live *l, const struct intake_who *who)
{
	struct proc_id proc = proc_of(l, who->tgid);
	if (proc.n)
		target_read_maps(l->h.targets, proc, who->time_ns, NULL);
	l->last.of.proc.n = 0;
}

static void apply_note(struct live *l, const struct intake_who *who, enum intake_note note, uint64_t other)
{
	switch (note) {
	case INTAKE_MISS: on_miss(l, who); return;
	case INTAKE_OOM: reaper_note_victim(&l->reaper, target_find(l->h.targets, (uint32_t)other)); return;
	case INTAKE_MAPPED: on_libraries(l, who); return;
	case INTAKE_EXEC:
		if (target_find(l->h.targets, who->tgid).n)
			on_exec(l, who, other);
		probe_forget_losses(l->h.probe, who->tgid);
		tracker_on_exec(l->tracker, who->tgid);
		break;
	case INTAKE_USED: windows_add_used(l->windows, who->tgid, other); return;
	case INTAKE_EXIT:
		live_ends(l, who, other);
		probe_forget_losses(l->h.probe, who->tgid);
		tracker_on_exit(l->tracker, who->tgid);
		break;
	case INTAKE_FORK:
		live_end_reused(l, (uint32_t)other);
		tracker_on_fork(l->tracker, who->tgid, (uint32_t)other, who->time_ns);
		break;
	}
	l->last.of.proc.n = 0;
}

static void on_note(void *ctx, const struct intake_who *who, enum intake_note note, uint64_t other)
{
	struct live *l = ctx;
	l->h.held = who->held;
	apply_note(l, who, note, other);
	if (who->held)
		attach_settle(l->attach, catalog_proc(l->h.catalog, target_find(l->h.targets, who->tgid)));
	l->h.held = false;
	l->stats.let_go += who->held && now_ns() - who->time_ns >= HOLDER_LIMIT_NS;
	if (who->held && who->held <= HOLDERS)
		holder_release(&l->holders[who->held - 1], who->tid, who->time_ns);
}

static const struct intake_ops live_intake_ops = {
	.on_event = on_event,
	.on_stack = on_stack,
	.on_note = on_note,
	.on_collection = on_collection,
	.on_range = on_range,
	.on_name = on_name,
};

static void on_proc(void *ctx, const struct proc *p)
{
	struct live *l = ctx;
	consumer_define(l->h.out, &(struct definition){ DEFINITION_PROC, .proc = p });
}

static void on_mapping(void *ctx, const struct mapping *map, const struct module *m)
{
	struct live *l = ctx;
	if (m)
		consumer_define(l->h.out, &(struct definition){ DEFINITION_MODULE, .module = m });
	consumer_define(l->h.out, &(struct definition){ DEFINITION_MAPPING, .mapping = map });
}

static void on_module(void *ctx, const struct proc *p, const struct module *m, int fd)
{
	struct live *l = ctx;
	if (record_has(l->h.o, SUBJECT_ALLOCATIONS))
		attach_module(l->attach, p, m, fd);
}

static void on_maps(void *ctx, const struct proc *p)
{
	struct live *l = ctx;
	l->last.of.proc.n = 0; /* its epoch may have changed */
	rows_map(&l->rows, p);
}

static void on_translated(void *ctx, const struct proc *p, const char *name)
{
	struct live *l = ctx;
	log_warn("process %" PRIu32
		 " (%s) runs under %s now, where a probe would kill it: its probes are removed, and it is no longer recorded",
		 p->tgid, p->comm ?: "", name);
	live_remove(l, p->tgid);
}

static void on_read_reports(void *ctx)
{
	const struct live *l = ctx;
	if (l->tracker)
		tracker_read_reports(l->tracker);
}

static bool on_room(void *ctx, const char *path)
{
	const struct live_room *room = &((const struct live *)ctx)->room;
	return !room->has || room->has(room->ctx, path);
}

static struct elf *outline(void *ctx, int fd, const char *path)
{
	return study_outline(((const struct live *)ctx)->study, fd, path);
}

static const struct target_ops live_target_ops = {
	.outline = outline,
	.read_reports = on_read_reports,
	.on_module = on_module,
	.on_proc = on_proc,
	.on_mapping = on_mapping,
	.on_maps = on_maps,
	.on_translated = on_translated,
	.has_room = on_room,
};

bool live_takes_all(const struct live *l)
{
	return l->h.select && l->h.select->all;
}

static bool on_none_live(void *ctx)
{
	const struct live *l = ctx;
	return gcwatch_none_live(&l->gc);
}

/*
 * Without kernel support for windows an endless recording continues: it has other ways to reduce its load. So does one whose
 * user gave no limit.
 */
static int open_windows(struct live *l, struct err *err)
{
	const struct windows_config c = { .percent = record_overhead(l->h.o),
					  .h = &l->h,
					  .attach = l->attach,
					  .own_counters = study_wants_counted(l->study),
					  .rate = &l->rate,
					  .read_ns = &l->read_ns,
					  .live = l->h.o->live,
					  .ctx = l,
					  .event = on_made,
					  .none_live = on_none_live };
	l->windows = windows_new(&c, err);
	if (l->windows)
		return 0;
	if (l->h.o->max_overhead > 0 && (!l->h.select || err->code != ENOTSUP))
		return -err->code;
	log_info("probes are in all the time: %s", err->text);
	return 0;
}

static int open_probes(struct live *l, struct err *err)
{
	const struct record_options *o = l->h.o;
	struct probe_config cfg = {
		.interval = o->interval,
		.page_interval = o->interval ?: PAGE_INTERVAL,
		.min_size = o->min_size,
		.max_frames = o->backtrace == BACKTRACE_NONE ? 0 : o->backtrace_limit,
		.ring_sz = probe_ring_part(o->ring_sz),
		.memory = o->memory,
		.follow = o->follow,
		.all = live_takes_all(l),
		.subjects = record_beside(o) | 1u << record_first(o),
		.report_all = l->h.select != NULL,
		.free_stacks = !o->no_free_stacks,
		.windowed = record_overhead(o) > 0 && record_samples_calls(o),
		.page_windows = record_overhead(o) > 0 && record_has(o, SUBJECT_PAGES),
		.no_frees = o->no_frees,
		.check_stacks = o->check_stacks,
		.walk = (uint8_t)o->walk,
		.counts_calls = o->calls,
		.noted = record_takes_notes(o),
		.stop_at_gc = o->stop_at_gc,
	};
	struct intake_ops in = live_intake_ops;
	in.ctx = l;
	l->h.probe = probe_open(&cfg, err);
	if (!l->h.probe || (record_overhead(o) > 0 && open_windows(l, err)))
		return -err->code;
	struct queue_source from = { probe_ring_fd(l->h.probe), probe_calls_fd(l->h.probe), cfg.ring_sz };
	l->intake = intake_new(&from, o->ring_sz - cfg.ring_sz, &in, err);
	if (!l->intake || live_track(l, err))
		return -err->code;
	attach_share(l->attach, o->follow && tracker_may_share(l->tracker));
	return 0;
}

/* Rows first: stacks are walked by them as soon as probes are attached. */
static void on_found(void *ctx, struct findings *f)
{
	struct live *l = ctx;
	bool rows = f->asked & FINDINGS_ROWS, late = rows && l->h.flowing;
	if (rows && rows_are_used(&l->rows))
		rows_found(&l->rows, f);
	else if (rows)
		stack_ends_found(&l->stack_ends, f);
	if (late)
		rows_note(&l->rows, f->module);
	if (late && f->sites.list.sites_cnt)
		rows_list(&l->rows);
	if (f->asked & FINDINGS_SITES)
		attach_found(l->attach, f);
	if (f->asked & FINDINGS_INLINED)
		counting_found_inlined(l->h.counting, f);
}

static void on_wanted(void *ctx, const struct module *m, int fd)
{
	struct live *l = ctx;
	uint32_t functions = counting_parts(l->h.counting, m->path);
	study_file(l->study, m, fd, FINDINGS_SITES | functions | rows_wanted(&l->rows, m));
	if (functions && counting_wants_inlined(l->h.counting, m->id))
		study_file(l->study, m, fd, FINDINGS_INLINED);
}

static int on_collector(void *ctx, uint32_t tgid, struct err *err)
{
	return gcwatch_add(&((struct live *)ctx)->gc, tgid, err);
}

static struct stack_id on_entry(void *ctx, struct proc_id proc, const struct frame *entry)
{
	return stacks_entry(ctx, proc, entry);
}

static void on_unseen(void *ctx, const struct proc *p, const struct unseen *u, bool flagged)
{
	gcwatch_unseen(&((struct live *)ctx)->gc, p, u, flagged);
}

/* Creates the parts that examine mapped files and those that use the results. */
static int open_files(struct live *l, struct err *err)
{
	const struct study_ops out = { .ctx = l, .found = on_found };
	const struct attach_ops needs = { .ctx = l, .wanted = on_wanted, .collector = on_collector, .unseen = on_unseen };
	uint32_t families;
	if (alloc_families_by_names(l->h.o->allocators, &families, err))
		return -err->code;
	l->study = study_new(&l->h, families, &out, err);
	if (!l->study)
		return -err->code;
	l->rows = (struct rows){ .h = &l->h, .study = l->study };
	l->stack_ends = (struct stack_ends){ .h = &l->h, .study = l->study };
	l->attach = attach_new(&l->h, &needs);
	l->erlang = (struct erlang_names){ .h = &l->h, .attach = l->attach };
	if (l->h.o->calls)
		l->h.counting = counting_new(&l->h);
	return l->attach && (l->h.counting || !l->h.o->calls) ? 0 : err_set(err, ENOMEM, "out of memory");
}

int live_open(struct live *l, const struct record_options *o, const struct select *select, struct err *err)
{
	struct target_ops out = live_target_ops;
	out.ctx = l;
	out.labels = o->labels;
	out.beside = record_beside(o);
	l->h.o = o;
	l->stacks.h = &l->h;
	l->ledger = (struct ledger){ .h = &l->h, .ctx = l, .event = on_made };
	l->gc = (struct gc_watch){ .h = &l->h, .ctx = l, .event = on_made };
	l->entries = (struct entries){ .h = &l->h, .ctx = &l->stacks, .entry = on_entry };
	l->resident = (struct resident){ .ctx = l, .event = on_made };
	l->mappings = (struct mappings){ .ctx = l, .event = on_made };
	l->rate = (struct rate){ .interval = o->interval, .ring_sz = o->ring_sz };
	l->h.select = select;
	if (pidns_check(err) || open_files(l, err))
		return -err->code;
	l->h.catalog = catalog_new();
	l->h.targets = l->h.catalog ? target_new(l->h.catalog, &out) : NULL;
	if (!l->h.targets)
		return err_set(err, ENOMEM, "out of memory");
	return open_probes(l, err);
}

void live_close(struct live *l)
{
	for (int i = 0; i < HOLDERS; i++)
		holder_stop(&l->holders[i]);
	intake_free(l->intake);
	gcwatch_free(&l->gc);
	windows_free(l->windows);
	probe_close(l->h.probe);
	attach_free(l->attach);
	counting_free(l->h.counting);
	entries_free(&l->entries);
	tracker_free(l->tracker);
	target_free(l->h.targets);
	study_free(l->study);
	rows_free(&l->rows);
	catalog_free(l->h.catalog);
	stacks_free(&l->stacks);
	resident_free(&l->resident);
	mappings_free(&l->mappings);
	reaper_free(&l->reaper);
	stack_ends_free(&l->stack_ends);
	erlang_free(&l->erlang);
}

/* Normally there is an exit record; a process whose record was lost is noticed by its pidfd. */
static void reap_silent_exits(struct live *l, uint64_t now)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (!target_is_process(l->h.targets, p) || target_alive(l->h.targets, p->id) ||
		    !reaper_is_silent(&l->reaper, p->tgid, l->read_ns, now))
			continue;
		struct intake_who who = { .tgid = p->tgid, .tid = p->tgid, .time_ns = now_ns() };
		on_note(l, &who, INTAKE_EXIT, 0);
	}
}

static void warn_when_closed(struct live *l)
{
	struct buf why = { 0 };
	if (l->warned_closed || !target_closed_files(l->h.targets))
		return;
	l->warned_closed = true;
	target_closed_text(l->h.targets, &why);
	log_warn("neither probed nor named: %s", buf_str(&why));
	buf_free(&why);
}

static void warn_when_silent(struct live *l, uint64_t now)
{
	if (l->warned_silent || !record_has(l->h.o, SUBJECT_ALLOCATIONS) || now - l->started_ns < SILENCE_NS)
		return;
	l->warned_silent = true;
	struct probe_stats s;
	if (probe_stats(l->h.probe, &s) || catalog_sum(l->h.catalog, COUNT_HIT))
		return;
	log_warn("no allocation seen in 3 s: the process may be idle, or allocate through a library that was not "
		 "found; `alys-bpf doctor --probes PID` lists what is probed");
}

void live_publish(struct live *l, uint64_t now)
{
	struct ledger_sources in = {
		.own = l->stats,
		.intake = intake_counts(l->intake),
		.over = l->stopped_ns,
		.stacks = l->stacks.count,
		.stacks_left = stacks_left(&l->stacks),
		.stack_ends = l->stacks.ends,
		.rate_changes = l->rate.changes,
		.renewals = attach_facts(l->attach)->renewals,
		.rows = tables_counts(probe_tables(l->h.probe)).rows,
		.rowless = l->rows.without,
		.files_given_up = study_counts(l->study).given_up,
		.collects = l->gc.liveness,
		.sample_gap = attach_sample_gap(l->attach),
	};
	struct probe_calls *calls = NULL;
	if (l->h.counting)
		entries_publish(&l->entries);
	if (probe_stats(l->h.probe, &in.kernel))
		return;
	probe_calls(l->h.probe, &calls, &in.calls_cnt);
	in.calls = calls;
	if (l->tracker)
		in.children_late = tracker_counts(l->tracker).late;
	if (in.collects) {
		in.collections = liveness_counts(l->gc.liveness);
		in.marks = marks_cost(l->gc.marks);
	}
	ledger_publish(&l->ledger, &in, now);
	gcwatch_report_older(&l->gc, now, l->stopped_ns);
	free(calls);
}

static void tick(struct live *l)
{
	uint64_t now = now_ns();
	if (now - l->last_tick_ns < TICK_NS)
		return;
	l->last_tick_ns = now;
	live_publish(l, now);
	gcwatch_count(&l->gc);
	reap_silent_exits(l, now);
	sweep_ended(l, now);
	warn_when_closed(l);
	warn_when_silent(l, now);
	consumer_tick(l->h.out, now);
}

static bool time_is_over(const struct live *l)
{
	return l->h.o->duration > 0 && (double)(now_ns() - l->started_ns) >= l->h.o->duration * 1e9;
}

/* Once the ring has been emptied, everything sent before that has been read. */
static long drain(struct live *l)
{
	uint64_t before = now_ns();
	long n = intake_drain(l->intake);
	if (n < INTAKE_DRAIN_MAX)
		l->read_ns = before;
	if (!n && gcwatch_read_until(&l->gc, before))
		l->abandoned = true;
	return n;
}

void live_set_interval(struct live *l, uint64_t interval)
{
	struct event e = { .kind = EVENT_RATE, .time_ns = now_ns(), .interval = interval };
	if (interval == l->rate.interval)
		return;
	l->rate.interval = interval;
	probe_set_interval(l->h.probe, interval);
	live_write_event(l, &e);
}

static void check_rate(struct live *l)
{
	uint64_t interval = rate_look(&l->rate, l->h.o->interval, intake_backlog(l->intake), now_ns());
	if (interval == l->rate.interval)
		return;
	log_info("%s: sampling every %" PRIu64 " bytes now", interval > l->rate.interval ? RATE_SLOWER : RATE_FASTER, interval);
	live_set_interval(l, interval);
}

int live_step(struct live *l)
{
	l->h.flowing = true;
	check_rate(l);
	study_look(l->study);
	rows_look(&l->rows, study_is_busy(l->study), now_ns());
	attach_update(l->attach);
	bool left = windows_update(l->windows) && drain(l) == INTAKE_DRAIN_MAX;
	gcwatch_poll(&l->gc, now_ns());
	int ms = tracker_work(l->tracker);
	study_look(l->study); /* files that were just found need not wait for the next step */
	tick(l);
	l->abandoned |= l->stacks.failed || l->entries.failed;
	l->stacks.failed = false;
	int due = left ? 0 : windows_wait_ms(l->windows);
	return due >= 0 && (ms < 0 || ms > due) ? due : ms;
}

/* What waits in the ring until a window is over would wake this process all the time, and slow the target's processor down. */
size_t live_fds(const struct live *l, struct pollfd *out)
{
	const int fds[LIVE_FDS] = { windows_is_open(l->windows) ? -1 : intake_epoll_fd(l->intake), windows_fd(l->windows),
				    tracker_fd(l->tracker), study_fd(l->study) };
	for (size_t i = 0; i < LIVE_FDS; i++)
		out[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	return LIVE_FDS;
}

int live_run(struct live *l, int signals, struct err *err)
{
	struct pollfd fds[1 + LIVE_FDS] = { { .fd = signals, .events = POLLIN } };
	int done = 0, ms = 0;
	while (target_count(l->h.targets) && done <= 0 && !time_is_over(l)) {
		size_t n = 1 + live_fds(l, fds + 1);
		if (poll(fds, n, ms >= 0 && ms < POLL_MS ? ms : POLL_MS) < 0 && errno != EINTR)
			return err_set(err, errno, "poll: %s", strerror(errno));
		if (fds[0].revents)
			break;
		ms = live_step(l);
		done = consumer_done(l->h.out);
		if (done < 0)
			return err_set(err, EPIPE, "the reader of the trace has gone");
		if (l->abandoned)
			return err_set(err, ENOMEM, "out of memory: recording stopped; what was recorded is kept");
	}
	return 0;
}

void live_drain(struct live *l)
{
	while (drain(l) > 0)
		;
}
