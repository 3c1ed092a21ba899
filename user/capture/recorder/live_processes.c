/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/live: processes that are added, removed and forgotten. See live.h. */
#include "base/clock.h"
#include "recorder/live.h"
#include "recorder/tracker.h"
#include "resident/resident_memory.h"

int live_add(struct live *l, uint32_t tgid, struct err *err)
{
	struct proc_id id = target_add(l->h.targets, tgid, (struct proc_id){ 0 }, err);
	if (!id.n)
		return -err->code;
	if (record_has(l->h.o, SUBJECT_PAGES))
		l->resident_start += memory_resident(tgid);
	if (l->started_ns)
		live_memory_begins(l, id, tgid);
	int rc = live_takes_all(l) ? 0 : probe_add_target(l->h.probe, tgid, err);
	return rc ? rc : target_read_maps(l->h.targets, id, UINT64_MAX, err);
}

void live_remove(struct live *l, uint32_t tgid)
{
	struct intake_who who = { .tgid = tgid, .tid = tgid, .time_ns = now_ns() };
	l->dropping = true;
	live_ends(l, &who, 0);
	l->dropping = false;
	probe_remove_target(l->h.probe, tgid);
	probe_forget_losses(l->h.probe, tgid);
	l->last.of.proc.n = 0;
}

bool live_has(const struct live *l, uint32_t tgid)
{
	struct proc_id id = target_find(l->h.targets, tgid);
	return id.n && target_alive(l->h.targets, id);
}

void live_end_reused(struct live *l, uint32_t tgid)
{
	struct intake_who who = { .tgid = tgid, .tid = tgid, .time_ns = now_ns() };
	if (!target_find(l->h.targets, tgid).n || live_has(l, tgid))
		return;
	live_ends(l, &who, 0);
	probe_forget_losses(l->h.probe, tgid);
	tracker_on_exit(l->tracker, tgid);
	l->last.of.proc.n = 0;
}

void live_forget_processes(struct live *l)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (!target_is_process(l->h.targets, p))
			continue;
		gcwatch_gone(&l->gc, p->id, p->tgid, now_ns());
		live_memory_ends(l, p->id);
		target_gone(l->h.targets, p->tgid);
		tables_drop_mappings(probe_tables(l->h.probe), p->tgid);
		probe_remove_target(l->h.probe, p->tgid);
	}
	probe_forget_losses(l->h.probe, 0);
	reaper_reset(&l->reaper);
	l->last.of.proc.n = 0;
}
