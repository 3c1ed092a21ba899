/* SPDX-License-Identifier: Apache-2.0 */
/*
 * governor/costs: what probes took of the programs, and what CPU time those used, as the budget wants to know it. Of
 * prices those of cold caches are taken: the budget is a promise.
 */
#ifndef ALYS_GOVERNOR_COSTS_H
#define ALYS_GOVERNOR_COSTS_H

#include "base/map.h"
#include "probe/window.h"
#include "recording/handles.h"
#include "target/target.h"
#include "window/budget.h"

/* Zeroed, but for what is borrowed, and budget.max. */
struct costs {
	const struct handles *h;
	const struct stop_prices *price;
	struct budget budget;
	struct window_spent spent, opening; /* at the last look, and when the last window was to be opened */
	struct map cpu;                     /* tgid -> ns of CPU time at the last look */
	uint64_t cpu_ended_ns;              /* of processes that ended since, what is not in it */
	uint64_t since_ns;                  /* processes that began later are counted whole */
	uint64_t noted_ns;                  /* the last look */
};

/* What the time since the last look was. */
enum cost_of {
	COST_STRETCH, /* probes were attached all the time */
	COST_GAP,
	COST_WINDOW, /* one, with the gap before it */
};

/* Processes count from then on. */
void costs_begin(struct costs *c, uint64_t now);
/* A window is about to open. */
void costs_window_opens(struct costs *c);
/* Tells the budget. in_ns: how long any probes were attached since the last call. */
void costs_note(struct costs *c, uint64_t now, uint64_t in_ns, enum cost_of of);
/* The process ends, having used that much CPU time. */
void costs_add_used(struct costs *c, const struct proc *p, uint64_t cpu_ns);
/* It has ended; its number may become another's. */
void costs_forget(struct costs *c, uint32_t tgid);
void costs_free(struct costs *c);

#endif
