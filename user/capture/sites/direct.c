/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/direct: see direct.h. bdwgc's GC_malloc_kind_global takes small blocks from a list shared by all threads, and
 * calls GC_generic_malloc if it is empty or the block is large:
 *
 *	entry -- list not empty --> [whole exit: size and kind still in registers, result too] --> ret
 *	      `- [late entry: call GC_generic_malloc(size, kind)] --> [exit: result] --> ret
 *
 * The last exit is GC_generic_malloc's own, if it has exits because of other functions.
 */
#include "sites/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/wire_register.h"

#define MAX_ROUNDS 64
#define CALLEE "GC_generic_malloc"

enum { PLAIN, WHOLE, LATE };

/* What is known of each node. */
struct facts {
	const struct flow *w;
	insn_regs *size, *kind; /* registers that hold the argument on every path to the node */
	uint8_t *role;
	uint8_t *seen;
};

static insn_regs kept(const struct insn *in, insn_regs before, int to, int from)
{
	if (in->flow == INSN_CALL)
		return before & insn_machine.call_keeps;
	insn_regs after = before & ~in->writes;
	return to >= 0 && before & INSN_BIT(from) ? after | INSN_BIT(to) : after;
}

static bool narrow(insn_regs *regs, insn_regs by)
{
	insn_regs was = *regs;
	*regs &= by;
	return *regs != was;
}

static bool step(const struct facts *f, size_t i)
{
	const struct flow_node *n = &f->w->nodes[i];
	insn_regs size = kept(&n->in, f->size[i], n->in.copy_to, n->in.copy_from);
	insn_regs kind = kept(&n->in, f->kind[i], n->in.low_to, n->in.low_from);
	const int32_t to[2] = { n->next, n->jump };
	bool changed = false;
	for (int k = 0; k < 2; k++) {
		if (to[k] < 0)
			continue;
		changed |= narrow(&f->size[to[k]], size);
		changed |= narrow(&f->kind[to[k]], kind);
	}
	return changed;
}

/* False if this does not converge. */
static bool follow_arguments(const struct facts *f, const struct site *s)
{
	bool changed = true;
	for (size_t i = 0; i < f->w->nodes_cnt; i++) {
		bool entry = i == 0;
		f->size[i] = entry ? INSN_BIT(plan_arg_reg(s->row->arg[0])) : f->w->nodes[i].root ? 0 : insn_machine.data;
		f->kind[i] = entry ? INSN_BIT(plan_arg_reg(s->row->kind_arg)) : f->w->nodes[i].root ? 0 : insn_machine.data;
	}
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < f->w->nodes_cnt; i++)
			changed |= step(f, i);
	}
	return !changed;
}

/* What can be reached without passing a node with a role: an exit, or other nodes with a role. */
struct reached {
	bool out, whole, late;
};

static void reach(const struct facts *f, int32_t i, struct reached *r)
{
	if (i < 0 || f->seen[i]++)
		return;
	const struct flow_node *n = &f->w->nodes[i];
	r->whole |= f->role[i] == WHOLE;
	r->late |= f->role[i] == LATE;
	r->out |= f->role[i] == PLAIN && n->leave != FLOW_STAYS;
	if (f->role[i] != PLAIN)
		return;
	reach(f, n->next, r);
	reach(f, n->jump, r);
}

static struct reached reach_from(const struct facts *f, const int32_t *from, size_t n)
{
	struct reached r = { 0 };
	memset(f->seen, 0, f->w->nodes_cnt);
	for (size_t i = 0; i < n; i++)
		reach(f, from[i], &r);
	return r;
}

/* Every call passes exactly one whole exit, or exactly one late entry and then no whole exit. */
static bool is_partition(const struct facts *f)
{
	const int32_t entry = 0;
	struct reached r = reach_from(f, &entry, 1);
	bool good = !r.out && r.whole && r.late;
	for (size_t i = 0; i < f->w->nodes_cnt && good; i++) {
		const int32_t behind[2] = { f->w->nodes[i].next, f->w->nodes[i].jump };
		if (f->role[i] == PLAIN)
			continue;
		r = reach_from(f, behind, 2);
		good = !r.whole && !r.late;
	}
	return good;
}

static bool is_late_entry(struct plan *p, const struct facts *f, const struct site *s, size_t i)
{
	const struct flow_node *n = &f->w->nodes[i];
	return n->in.flow == INSN_CALL && n->in.cost == INSN_EMULATED && n->to && !strcmp(n->to, CALLEE) && flow_cfa_known(n) &&
	       plan_cfa_ok(p, n) && f->size[i] & INSN_BIT(plan_arg_reg(s->row->arg[0])) &&
	       f->kind[i] & INSN_BIT(plan_arg_reg(s->row->kind_arg));
}

/* No other site uses this exit. */
static bool is_own(const struct plan *p, const struct site *s, uint32_t exit)
{
	for (size_t i = 0; i < p->list->sites_cnt; i++) {
		const struct site *other = &p->list->sites[i];
		for (size_t k = 0; other != s && k < other->exits_cnt; k++) {
			if (other->exits[k] == exit)
				return false;
		}
	}
	return true;
}

/* Assigns roles to nodes; returns the number of late entries, the last one in *late. */
static size_t assign_roles(struct plan *p, const struct facts *f, const struct site *s, size_t *late)
{
	size_t found = 0;
	for (size_t i = 0; i < f->w->nodes_cnt; i++) {
		if (!is_late_entry(p, f, s, i))
			continue;
		f->role[i] = LATE;
		*late = i;
		found++;
	}
	for (size_t k = 0; k < s->exits_cnt; k++) {
		const struct site_exit *x = &p->list->exits[s->exits[k]];
		int32_t i = flow_find(f->w, x->vaddr);
		if (i >= 0 && x->emulated && f->size[i] && f->kind[i] && is_own(p, s, s->exits[k]))
			f->role[i] = WHOLE;
	}
	return found;
}

/*
 * Other functions may jump to the callee and need its exits: then the call is seen at those, and only once. The
 * callee's result is what its caller returns, through GC_clear_stack.
 */
static int take_exits(struct plan *p, struct site *s, uint64_t callee)
{
	for (size_t i = 0; i < p->bodies_cnt; i++) {
		const struct body *b = p->bodies[i];
		for (size_t k = 0; b->flow.entry == callee && k < b->exits_cnt; k++) {
			uint32_t *slot = VEC_PUSH(&s->late, exits);
			if (!slot)
				return -ENOMEM;
			*slot = b->exits[k];
		}
	}
	return 0;
}

static int take(struct plan *p, const struct facts *f, struct site *s, size_t late)
{
	const struct flow_node *n = &f->w->nodes[late];
	if (!elf_offset_of(p->funcs.elf, n->in.vaddr, &s->late.offset))
		return 0;
	s->late.vaddr = n->in.vaddr;
	s->late.cfa_off = (uint32_t)n->cfa;
	for (size_t k = 0; k < s->exits_cnt; k++) {
		struct site_exit *x = &p->list->exits[s->exits[k]];
		int32_t i = flow_find(f->w, x->vaddr);
		if (i < 0 || f->role[i] != WHOLE)
			continue;
		x->whole_call_of = (uint32_t)(s - p->list->sites) + 1;
		x->size_reg = wire_reg(f->size[i]);
		x->kind_reg = wire_reg(f->kind[i]);
	}
	return n->dest ? take_exits(p, s, n->dest) : 0;
}

int direct_find(struct plan *p, struct site *s)
{
	struct body *b = plan_body(p, s->func, s->size);
	size_t n = b ? b->flow.nodes_cnt : 0, late = 0;
	struct facts f = { .w = b ? &b->flow : NULL,
			   .size = calloc(n + 1, sizeof(insn_regs)),
			   .kind = calloc(n + 1, sizeof(insn_regs)),
			   .role = calloc(n + 1, 1),
			   .seen = calloc(n + 1, 1) };
	bool room = b && f.size && f.kind && f.role && f.seen;
	int rc = room ? 0 : -ENOMEM;
	if (room && n && !f.w->unproven && follow_arguments(&f, s) && assign_roles(p, &f, s, &late) == 1 && is_partition(&f))
		rc = take(p, &f, s, late);
	free(f.size);
	free(f.kind);
	free(f.role);
	free(f.seen);
	return rc;
}
