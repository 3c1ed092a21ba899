/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/reaper: see reaper.h. */
#include "recorder/reaper.h"

#define SWEEP_NS 5000000000ull

void reaper_note(struct reaper *r, uint32_t tgid, uint64_t time_ns)
{
	uint64_t *when = map_put(&r->ended, tgid);
	if (when)
		*when = time_ns;
	map_del(&r->silent, tgid);
}

void reaper_note_victim(struct reaper *r, struct proc_id proc)
{
	uint64_t *found = proc.n ? map_put(&r->victims, proc.n) : NULL;
	if (found)
		*found = 1;
}

bool reaper_take_victim(struct reaper *r, struct proc_id proc)
{
	bool was = map_get(&r->victims, proc.n);
	map_del(&r->victims, proc.n);
	return was;
}

bool reaper_is_silent(struct reaper *r, uint32_t tgid, uint64_t read_ns, uint64_t now_ns)
{
	uint64_t *found = map_put(&r->silent, tgid);
	if (found && !*found)
		*found = now_ns;
	return !found || *found < read_ns;
}

bool reaper_sweep(struct reaper *r, uint64_t now_ns, struct map *ended)
{
	if (!r->ended.count || now_ns - r->swept_ns < SWEEP_NS)
		return false;
	*ended = r->ended;
	r->ended = (struct map){ 0 };
	r->swept_ns = now_ns;
	return true;
}

void reaper_reset(struct reaper *r)
{
	map_free(&r->silent);
	map_free(&r->victims);
}

void reaper_free(struct reaper *r)
{
	map_free(&r->ended);
	reaper_reset(r);
}
