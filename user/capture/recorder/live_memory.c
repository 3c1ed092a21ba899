/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/live: pages and mappings, where the recording is about these. See live.h. */
#include <unistd.h>

#include "recorder/live.h"
#include "resident/resident_memory.h"

void live_memory_comes(struct live *l, const struct event *e)
{
	if (l->h.o->subject == RECORD_PAGES && resident_come(&l->resident, e))
		l->abandoned = true;
	if (l->h.o->subject == RECORD_MAPPINGS && mappings_come(&l->mappings, e))
		l->abandoned = true;
}

static int range_changes(struct live *l, const struct resident_range *g, const struct intake_range *r)
{
	if (l->h.o->subject == RECORD_MAPPINGS)
		return r->moved ? mappings_moved(&l->mappings, g, r->to) : mappings_gone(&l->mappings, g);
	return r->moved ? resident_moved(&l->resident, g, r->to) : resident_gone(&l->resident, g);
}

void live_memory_goes(struct live *l, const struct resident_range *g, const struct intake_range *r)
{
	if (range_changes(l, g, r))
		l->abandoned = true;
}

void live_memory_begins(struct live *l, struct proc_id proc, uint32_t tgid)
{
	if (l->h.o->subject == RECORD_MAPPINGS && mappings_begin(&l->mappings, proc, tgid))
		l->abandoned = true;
}

void live_begin_mappings(struct live *l)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));)
		live_memory_begins(l, p->id, p->tgid);
}

static void settle_resident(struct live *l, const struct proc *p)
{
	int fd = memory_pages(p->tgid);
	if (fd < 0)
		return;
	l->resident_end += memory_resident(p->tgid);
	resident_sweep(&l->resident, p->id, l->stopped_ns, memory_has_page, &fd);
	close(fd);
}

void live_settle(struct live *l)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));) {
		if (target_find(l->h.targets, p->tgid).n != p->id.n || !target_alive(l->h.targets, p->id))
			continue;
		if (l->h.o->subject == RECORD_PAGES)
			settle_resident(l, p);
		else if (l->h.o->subject == RECORD_MAPPINGS && mappings_settle(&l->mappings, p->id, p->tgid, l->stopped_ns))
			l->abandoned = true;
	}
}
