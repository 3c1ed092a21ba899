/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/held: what is still known of a call in the middle of its function: in which registers its arguments are, and where its
 * caller's frame pointer is. There, a probe can stand for one at the entry.
 */
#ifndef ALYS_FINDER_HELD_H
#define ALYS_FINDER_HELD_H

#include "finder/plan.h"

/* Of each node: registers that hold the value on every way to it. */
struct held {
	const struct flow *w;
	const struct site *site;
	insn_regs *size, *kind; /* of a function that has no kind, all */
	insn_regs *null;        /* 0 */
	int32_t *fp;            /* see saved_fp.h */
};

/* -ENOMEM or 0. If that takes too long, nothing is known. Borrows both. */
int held_find(const struct flow *w, const struct site *s, struct held *out);
void held_free(struct held *h);
/* The place that stands for the entry at a node, except `offset`; false if something of it is not known there. */
bool held_place(const struct held *h, struct plan *p, size_t node, struct site_place *out);

#endif
