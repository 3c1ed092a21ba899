/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/plan: keeps one analysis per function.
 */
#include "sites/plan.h"

#include <stdlib.h>

#include "base/vec.h"

struct body *plan_body(struct plan *p, uint64_t vaddr, uint64_t size)
{
	for (size_t i = 0; i < p->bodies_cnt; i++)
		if (p->bodies[i]->flow.entry == vaddr)
			return p->bodies[i];
	struct body *b = calloc(1, sizeof(*b));
	struct body **slot = b ? VEC_PUSH(p, bodies) : NULL;
	if (!slot || flow_build(&b->flow, &p->funcs, vaddr, size)) {
		p->bodies_cnt -= slot != NULL;
		free(b);
		return NULL;
	}
	b->with_calls = true;
	*slot = b;
	return b;
}

void plan_free(struct plan *p)
{
	for (size_t i = 0; i < p->bodies_cnt; i++) {
		flow_free(&p->bodies[i]->flow);
		free(p->bodies[i]->exits);
		free(p->bodies[i]);
	}
	free(p->bodies);
	funcs_free(&p->funcs);
}

int plan_arg_reg(unsigned int n)
{
	static const uint8_t regs[] = { INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, INSN_R8, INSN_R9 };
	return n < sizeof(regs) ? regs[n] : INSN_NO_REG;
}

bool plan_cfa_ok(void *ctx, const struct flow_node *n)
{
	const struct plan *p = ctx;
	uint32_t off;
	return !p->options->cfa_at || !p->options->cfa_at(p->options->cfa_ctx, n->in.vaddr, &off) || off == (uint32_t)n->cfa;
}

uint8_t plan_wire_reg(uint16_t regs)
{
	/* Preferred ones first: rax, then what a call preserves. */
	static const uint8_t order[] = { 0, 3, 5, 12, 13, 14, 15, 1, 2, 6, 7, 8, 9, 10, 11 };
	static const uint8_t wire[] = { [0] = ALYS_REG_RAX,
					[1] = ALYS_REG_RCX,
					[2] = ALYS_REG_RDX,
					[3] = ALYS_REG_RBX,
					[5] = ALYS_REG_RBP,
					[6] = ALYS_REG_RSI,
					[7] = ALYS_REG_RDI,
					[8] = 7,
					[9] = 8,
					[10] = 9,
					[11] = 10,
					[12] = 11,
					[13] = 12,
					[14] = 13,
					[15] = 14 };
	for (size_t i = 0; i < sizeof(order); i++)
		if (regs & INSN_BIT(order[i]))
			return wire[order[i]];
	return ALYS_REG_RAX;
}
