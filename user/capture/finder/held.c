/* SPDX-License-Identifier: Apache-2.0 */
/* finder/held: see held.h. */
#include "finder/held.h"

#include <errno.h>
#include <stdlib.h>

#include "alys.h"
#include "finder/saved_fp.h"
#include "code/wire_register.h"

#define MAX_ROUNDS 64

static bool has_kind(const struct site *s)
{
	return s->row->flags & ALYS_SITE_GC_KIND;
}

static insn_regs kept(const struct insn *in, insn_regs before, int to, int from)
{
	if (in->flow == INSN_CALL)
		return before & insn_machine.call_keeps;
	insn_regs after = before & ~in->writes;
	return to >= 0 && before & INSN_BIT(from) ? after | INSN_BIT(to) : after;
}

static insn_regs null_after(const struct insn *in, insn_regs before)
{
	insn_regs after = kept(in, before, in->copy_to, in->copy_from);
	return in->zeroes >= 0 ? after | INSN_BIT(in->zeroes) : after;
}

static bool narrow(insn_regs *regs, insn_regs by)
{
	insn_regs was = *regs;
	*regs &= by;
	return *regs != was;
}

static bool step(const struct held *h, size_t i)
{
	const struct flow_node *n = &h->w->nodes[i];
	insn_regs size = kept(&n->in, h->size[i], n->in.copy_to, n->in.copy_from);
	insn_regs kind = has_kind(h->site) ? kept(&n->in, h->kind[i], n->in.low_to, n->in.low_from) : insn_machine.data;
	insn_regs null = null_after(&n->in, h->null[i]);
	const int32_t to[2] = { n->next, n->jump };
	bool changed = false;
	for (int k = 0; k < 2; k++) {
		if (to[k] < 0)
			continue;
		changed |= narrow(&h->size[to[k]], size);
		changed |= narrow(&h->kind[to[k]], kind);
		changed |= narrow(&h->null[to[k]], null);
	}
	return changed;
}

static insn_regs at_entry(const struct site *s, bool kind)
{
	if (kind && !has_kind(s))
		return insn_machine.data;
	return INSN_BIT(plan_arg_reg(kind ? s->row->kind_arg : s->row->arg[0]));
}

static void begin(const struct held *h)
{
	for (size_t i = 0; i < h->w->nodes_cnt; i++) {
		bool root = h->w->nodes[i].root;
		h->size[i] = !i ? at_entry(h->site, false) : root ? 0 : insn_machine.data;
		h->kind[i] = !i ? at_entry(h->site, true) : root ? 0 : insn_machine.data;
		h->null[i] = !i || root ? 0 : insn_machine.data;
	}
}

int held_find(const struct flow *w, const struct site *s, struct held *out)
{
	size_t n = w->nodes_cnt + 1;
	bool changed = true;
	*out = (struct held){ .w = w,
			      .site = s,
			      .size = calloc(n, sizeof(insn_regs)),
			      .kind = calloc(n, sizeof(insn_regs)),
			      .null = calloc(n, sizeof(insn_regs)),
			      .fp = saved_fp(w) };
	if (!out->size || !out->kind || !out->null || !out->fp) {
		held_free(out);
		return -ENOMEM;
	}
	begin(out);
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < w->nodes_cnt; i++)
			changed |= step(out, i);
	}
	for (size_t i = 0; changed && i < w->nodes_cnt; i++)
		out->size[i] = out->kind[i] = out->null[i] = 0;
	return 0;
}

void held_free(struct held *h)
{
	free(h->size);
	free(h->kind);
	free(h->null);
	free(h->fp);
	*h = (struct held){ 0 };
}

/* In its own register if it is there. */
static uint8_t place_of(insn_regs regs, uint8_t own)
{
	return regs & INSN_BIT(plan_arg_reg(own)) ? own : ALYS_ARG_IN(wire_reg(regs));
}

bool held_place(const struct held *h, struct plan *p, size_t node, struct site_place *out)
{
	const struct flow_node *n = &h->w->nodes[node];
	const struct site *s = h->site;
	uint64_t into = n->in.vaddr - s->func;
	*out = (struct site_place){ 0 };
	if (n->in.cost != INSN_EMULATED || !flow_cfa_known(n) || !plan_cfa_ok(p, n) || n->no_return || !h->size[node] ||
	    !h->kind[node] || h->fp[node] < 0 || h->fp[node] > UINT16_MAX || into > UINT16_MAX || !plan_return_known(h->w, n))
		return false;
	*out = (struct site_place){
		.vaddr = n->in.vaddr,
		.cfa_off = (uint32_t)n->cfa,
		.into = (uint16_t)into,
		.fp_off = (uint16_t)h->fp[node],
		.size_arg = place_of(h->size[node], s->row->arg[0]),
		.kind_arg = has_kind(s) ? place_of(h->kind[node], s->row->kind_arg) : 0,
	};
	return true;
}
