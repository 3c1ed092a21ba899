/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/compact: forgets what a recording that goes on and on knows of processes that are gone, and of stacks
 * that no heap has any more.
 */
#ifndef ALYS_MONITOR_COMPACT_H
#define ALYS_MONITOR_COMPACT_H

#include "monitor/heaps.h"
#include "recorder/live.h"

struct compact {
	struct live *live;
	const struct heaps *heaps;
	uint32_t young; /* stacks above this number may have events on their way */
};

/*
 * Makes the kernel send all stacks again. Those that it sent are known to be in use from then on;
 * of the others no event can come any more once the ring has been read, so that compact_catalog may
 * forget them: no sooner.
 */
void compact_prepare(struct live *l);
/* The stack is not to be forgotten. */
bool compact_keeps(const struct compact *c, const struct stack *s);
/*
 * 0 or -ENOMEM; then all is as it was. Nobody may hold anything of the old catalog. Prepares the
 * next one.
 */
int compact_catalog(const struct compact *c);

#endif
