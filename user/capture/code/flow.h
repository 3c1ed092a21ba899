/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/flow: the control flow of one function, and what can be proven about it: the distance between stack pointer and
 * CFA at each instruction, and where the function is left. values.h and exits.h build on it.
 *
 * What is not proven is not claimed. Direct jumps and branches are followed; a call is assumed to return and to
 * preserve what the ABI says.
 */
#ifndef ALYS_CODE_FLOW_H
#define ALYS_CODE_FLOW_H

#include "code/decode.h"
#include "code/funcs.h"

#include "base/map.h"

#define FLOW_NO_CFA (-1)

enum flow_leave {
	FLOW_STAYS,
	FLOW_RETURNS,
	FLOW_JUMPS_ON, /* tail jump (a branch may also go on to the next instruction) */
	FLOW_LOST,     /* continues at an unknown address */
};

struct flow_node {
	struct insn in;
	int32_t next, jump; /* successor nodes, -1 = none */
	int32_t cfa;        /* CFA - sp before the instruction, FLOW_NO_CFA = not known */
	int32_t frame;      /* CFA - frame pointer, 0 = not known */
	uint64_t dest;      /* function called or jumped to, 0 = unknown */
	const char *to;     /* its name, NULL = not known */
	enum flow_leave leave;
	insn_regs holds;  /* registers that hold the result on every path from here */
	uint16_t preds;   /* number of predecessors, saturating */
	bool root;        /* also reached from unknown code, or the entry */
	bool calls_later; /* this node or some path from it to the end makes a call */
	bool no_return;   /* does not continue: ud2, call of a noreturn function */
};

/* Why nothing may be claimed about the values in a function's code. */
enum flow_doubt {
	FLOW_PROVEN,
	FLOW_STACK_DIFFERS, /* between two ways to one place */
	FLOW_NOT_FOLLOWED,  /* not to the end */
	FLOW_UNBALANCED,    /* the stack, at a return */
	FLOW_COMPUTED_JUMP,
	FLOW_NO_SIZE, /* and a computed jump */
	FLOW_UNDECODED,
	FLOW_TOO_LONG,
};

struct flow {
	const struct funcs *funcs;
	uint64_t entry, lo, hi;
	struct flow_node *nodes; /* nodes[0] is the entry */
	size_t nodes_cnt, nodes_cap;
	struct map at;            /* address -> node */
	enum flow_doubt unproven; /* FLOW_PROVEN = values may be claimed */
};

/* 0 or -ENOMEM; code that cannot be analysed sets `unproven`. size 0: up to the next function. */
int flow_build(struct flow *w, const struct funcs *f, uint64_t entry, uint64_t size);
void flow_free(struct flow *w);
/*
 * Takes calls for ones that do not come back, by the padding behind them. gcc aligns other places like that, too: only for what is proven
 * otherwise.
 */
void flow_presume_ends(struct flow *w);
int32_t flow_find(const struct flow *w, uint64_t vaddr); /* node index or -1 */

static inline bool flow_cfa_known(const struct flow_node *n)
{
	return n->cfa != FLOW_NO_CFA;
}

/* Does sp point where it did when the function was called? */
static inline bool flow_at_entry_sp(const struct flow_node *n)
{
	return n->cfa == insn_machine.entry_cfa;
}

/* The only predecessor of this node; its preds must be 1. */
int32_t flow_before(const struct flow *w, int32_t node);

/* For the branch n after a test of reg: the successor if reg is not NULL; -1 = not such a branch. */
int32_t flow_not_null(const struct flow *w, int32_t n, int reg);

#endif
