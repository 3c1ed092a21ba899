/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/flow: the control flow of one function, and what can be proven on it: how far the stack
 * pointer is from the frame's CFA at each instruction, and where it is left. values.h and exits.h
 * build on it.
 *
 * A thing not proven is not claimed. Paths are followed through direct jumps and branches; a call is
 * taken to come back and to keep what the ABI says it keeps.
 */
#ifndef ALYS_CODE_FLOW_H
#define ALYS_CODE_FLOW_H

#include "code/decode.h"
#include "code/funcs.h"

#include "base/map.h"

enum flow_leave {
	FLOW_STAYS,
	FLOW_RETURNS,
	FLOW_JUMPS_ON, /* tail jump (a branch may also go on to the next instruction) */
	FLOW_LOST,     /* goes where we cannot follow */
};

struct flow_node {
	struct insn in;
	int32_t next, jump; /* nodes that control may reach, -1 = none */
	int32_t cfa;        /* CFA - sp before the instruction, 0 = not known */
	int32_t frame;      /* CFA - rbp, 0 = not known */
	uint64_t dest;      /* function that is called or jumped on to, 0 = not known */
	const char *to;     /* its name, NULL = not known */
	enum flow_leave leave;
	uint16_t holds;   /* registers that hold the result whichever way it goes on */
	uint16_t preds;   /* how many nodes lead here, saturating */
	bool root;        /* control also comes here from somewhere unknown, or it is the entry */
	bool calls_later; /* here or on some way from here to the end something is called */
	bool no_return;   /* execution ends here: ud2, a call that never comes back */
};

struct flow {
	const struct funcs *funcs;
	uint64_t entry, lo, hi;
	struct flow_node *nodes; /* nodes[0] is the entry */
	size_t nodes_cnt, nodes_cap;
	struct map at;        /* address -> node */
	const char *unproven; /* why nothing may be claimed about values, NULL = all is well */
};

/* -ENOMEM, or 0: oddities end in `unproven`. size 0: up to the next function. */
int flow_build(struct flow *w, const struct funcs *f, uint64_t entry, uint64_t size);
void flow_free(struct flow *w);
int32_t flow_find(const struct flow *w, uint64_t vaddr); /* node index or -1 */
/* The only node that leads to this one; its preds must be 1. */
int32_t flow_before(const struct flow *w, int32_t node);

/* For the branch n behind a test of reg: the way taken when reg is not NULL; -1 = n is no such thing. */
int32_t flow_not_null(const struct flow *w, int32_t n, int reg);

#endif
