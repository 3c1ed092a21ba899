/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/exits: where to see each return of a function once, as cheaply as can be proven.
 */
#ifndef ALYS_CODE_EXITS_H
#define ALYS_CODE_EXITS_H

#include "code/flow.h"

struct exit_rules {
	bool cheap;      /* look for more than `ret`s */
	bool with_calls; /* a site may have calls between it and the return */
	/* May veto a node whose CFA another source contradicts; NULL = nobody to ask. */
	bool (*cfa_ok)(void *ctx, const struct flow_node *n);
	void *ctx;
};

/*
 * Marks nodes in picked (nodes_cnt zeroed bytes): emulated instructions at which a register holds the
 * result (flow_node.holds) and from which every way leads to a return, such that no call passes two
 * of them; and each `ret` that they do not stand for. -ENOMEM or 0.
 */
int exits_pick(struct flow *w, const struct exit_rules *r, uint8_t *picked);

#endif
