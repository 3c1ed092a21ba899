/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/compact: makes an endless recording forget processes that are gone, and stacks that no heap refers to. */
#ifndef ALYS_MONITOR_COMPACT_H
#define ALYS_MONITOR_COMPACT_H

#include "monitor/heaps.h"
#include "recorder/live.h"

struct compact {
	struct live *live;
	const struct heaps *heaps;
};

/* Must the stack be kept? */
bool compact_keeps(const struct compact *c, const struct stack *s);
/*
 * Not before all stacks that are used have been sent again (live_recall_stacks) and the ring was read. 0 or -ENOMEM:
 * nothing has changed. Nobody may hold pointers into the old catalog. Prepares the next round.
 */
int compact_catalog(const struct compact *c);

#endif
