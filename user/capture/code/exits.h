/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/exits: selects instructions at which each return of a function is seen exactly once, as cheaply as can be
 * proven.
 */
#ifndef ALYS_CODE_EXITS_H
#define ALYS_CODE_EXITS_H

#include "code/flow.h"

struct exit_rules {
	bool cheap;      /* not only `ret` instructions */
	bool with_calls; /* calls may follow a site before the return */
	/* Rejects a node whose CFA another source contradicts; NULL = no such source. */
	bool (*cfa_ok)(void *ctx, const struct flow_node *n);
	void *ctx;
};

/*
 * Marks nodes in picked (nodes_cnt zeroed bytes): emulated instructions at which a register holds the result
 * (flow_node.holds) and from which every path leads to a return, such that no call passes two of them; and each `ret`
 * that these do not cover. 0 or -ENOMEM.
 */
int exits_pick(struct flow *w, const struct exit_rules *r, uint8_t *picked);

#endif
