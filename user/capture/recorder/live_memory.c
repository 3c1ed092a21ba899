/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/live: pages and mappings, where the recording is about these. See live.h. */
#include <inttypes.h>
#include <stdio.h>

#include "recorder/live.h"
#include "resident/resident_memory.h"

static struct proc_id heap_of(const struct live *l, enum subject s, struct proc_id proc)
{
	return target_heap(l->h.targets, proc, s);
}

int live_memory_comes(struct live *l, enum subject s, const struct event *e)
{
	return s == SUBJECT_PAGES ? resident_come(&l->resident, e) : mappings_come(&l->mappings, e);
}

int live_memory_goes(struct live *l, const struct resident_range *g, const struct intake_range *r)
{
	if (r->who.subject == SUBJECT_MAPPINGS)
		return r->moved ? mappings_moved(&l->mappings, g, r->to) : mappings_gone(&l->mappings, g);
	uint32_t tgid = r->who.tgid;
	if (!g->end)
		return resident_shrunk(&l->resident, g, memory_pages, &tgid);
	return r->moved ? resident_moved(&l->resident, g, r->to) : resident_gone(&l->resident, g);
}

void live_memory_begins(struct live *l, struct proc_id proc, uint32_t tgid)
{
	if (record_has(l->h.o, SUBJECT_MAPPINGS) && mappings_begin(&l->mappings, heap_of(l, SUBJECT_MAPPINGS, proc), tgid))
		l->abandoned = true;
}

void live_memory_forks(struct live *l, struct proc_id parent, struct proc_id child)
{
	if (mappings_fork(&l->mappings, heap_of(l, SUBJECT_MAPPINGS, parent), heap_of(l, SUBJECT_MAPPINGS, child)))
		l->abandoned = true;
}

void live_memory_ends(struct live *l, struct proc_id proc)
{
	resident_forget(&l->resident, heap_of(l, SUBJECT_PAGES, proc));
	mappings_forget(&l->mappings, heap_of(l, SUBJECT_MAPPINGS, proc));
}

void live_begin_mappings(struct live *l)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (!p->subject)
			live_memory_begins(l, p->id, p->tgid);
	}
}

static void settle_resident(struct live *l, const struct proc *p, uint64_t now_ns)
{
	uint32_t tgid = p->tgid;
	l->resident_end += memory_resident(tgid);
	if (resident_sweep(&l->resident, heap_of(l, SUBJECT_PAGES, p->id), now_ns, memory_pages, &tgid))
		l->abandoned = true;
}

void live_settle(struct live *l, uint64_t now_ns)
{
	const struct proc *p;
	l->resident_end = 0;
	mappings_begin_settling(&l->mappings);
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (!target_is_process(l->h.targets, p) || !target_alive(l->h.targets, p->id))
			continue;
		const struct proc_id maps = heap_of(l, SUBJECT_MAPPINGS, p->id);
		if (record_has(l->h.o, SUBJECT_PAGES))
			settle_resident(l, p, now_ns);
		if (record_has(l->h.o, SUBJECT_MAPPINGS) && mappings_settle(&l->mappings, maps, p->tgid, now_ns))
			l->abandoned = true;
	}
}

const char *live_type_at(struct live *l, const struct intake_stack *s, const struct frame *probe, char room[LIVE_TYPE_LEN])
{
	uint32_t number = s->memory & (ALYS_MEMORY_TYPED - 1);
	if (!(s->memory & ALYS_MEMORY_TYPED))
		return memory_name(s->memory);
	const struct mapping *m = probe->map.n ? catalog_mapping(l->h.catalog, probe->map) : NULL;
	const char *name = m ? attach_block_type(l->attach, m->module, number) : NULL;
	snprintf(room, LIVE_TYPE_LEN, "type %" PRIu32, number);
	return name ? name : room;
}
