/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/plan: keeps one analysis per function.
 */
#include "finder/plan.h"

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
	return n < INSN_ARGS ? insn_machine.args[n] : INSN_NO_REG;
}

bool plan_cfa_ok(void *ctx, const struct flow_node *n)
{
	const struct plan *p = ctx;
	uint32_t off;
	if (n->cfa > UINT16_MAX) /* struct alys_site */
		return false;
	return !p->options->cfa_at || !p->options->cfa_at(p->options->cfa_ctx, n->in.vaddr, &off) || off == (uint32_t)n->cfa;
}

bool plan_ends_wanted(const struct site *s)
{
	return alloc_returns_block(s->row) || (s->row->timed && insn_machine.cheap_ret);
}

/* Where calls leave it in a register, it is found beside the frame pointer (bpf/aarch64/frame.bpf.h). */
bool plan_return_known(const struct flow *w, const struct flow_node *n)
{
	bool known = insn_machine.link < 0;
	for (size_t i = 0; i < w->nodes_cnt && !known && n->frame; i++) {
		const struct flow_node *r = &w->nodes[i];
		known = r->in.records && flow_cfa_known(r) && r->cfa - r->in.record_delta == n->frame;
	}
	return known;
}
