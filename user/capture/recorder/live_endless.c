/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/live: the part for endless recordings: limits, catalogs and files replaced while it runs. See live.h. */
#include <errno.h>

#include "recorder/live.h"

uint32_t live_stacks(const struct live *l)
{
	return l->stacks.count;
}

uint64_t live_refused_stacks(const struct live *l)
{
	return l->stacks.refused;
}

uint64_t live_interval(const struct live *l)
{
	return l->rate.interval;
}

void live_refuse_stacks(struct live *l, bool refuse)
{
	l->stacks.refusing = refuse;
}

void live_refuse_processes(struct live *l, bool refuse)
{
	l->full = refuse;
}

void live_recall_stacks(struct live *l)
{
	stacks_recall(&l->stacks);
	probe_forget_stacks(l->h.probe);
}

bool live_recalls_stacks(const struct live *l)
{
	return l->stacks.forgets;
}

bool live_is_recalled(const struct live *l, struct stack_id id)
{
	return stacks_is_recalled(&l->stacks, id);
}

int live_replace_catalog(struct live *l, struct catalog *kept)
{
	struct map stacks = { 0 };
	if (!stacks_kept(&l->stacks, kept, &stacks) || target_move(l->h.targets, kept)) {
		map_free(&stacks);
		return -ENOMEM;
	}
	stacks_replace(&l->stacks, &stacks);
	attach_prune(l->attach, kept);
	catalog_free(l->h.catalog);
	l->h.catalog = kept;
	live_recall_stacks(l);
	return 0;
}

void live_end_file(struct live *l)
{
	ledger_cut(&l->ledger);
}

void live_note_dropped(struct live *l, uint64_t events)
{
	l->ledger.dropped_before += events;
}

void live_begin_file(struct live *l, const struct catalog *account)
{
	l->ledger.account = account;
}
