/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/direct: see direct.h. Most calls of glibc's malloc take a block from the thread's cache, and those of bdwgc's
 * GC_malloc_kind_global one from a list that all threads share. Then the arguments are still in registers when the result is known:
 *
 *	entry -- block at hand --> [whole exit: size and result in registers] --> ret
 *	      |- [late entry: the size is still there] --> ... --> [exit: result] --> ret
 *	      `- no block, such as a size that is too large --> [exit: NULL]
 *
 * The late entry of GC_malloc_kind_global is its call of GC_generic_malloc, and its exit may be GC_generic_malloc's own, if that has
 * exits because of other functions. In other functions it is the first place from where no whole exit is reached.
 */
#include "finder/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "finder/held.h"

#define CALLEE "GC_generic_malloc"

enum { PLAIN, WHOLE, LATE };

/* What is known of each node. */
struct facts {
	const struct flow *w;
	struct held held;
	uint8_t *role;
	uint8_t *slow;
	uint8_t *seen;
};

/* What can be reached without passing a node with a role: an exit with a result, or other nodes with a role. */
struct reached {
	bool out, whole, late;
};

/* A call that gives no block may leave unseen: it is counted at its exit. */
static bool gives_nothing(const struct facts *f, int32_t i)
{
	return f->w->nodes[i].leave == FLOW_RETURNS && f->held.null[i] & INSN_BIT(insn_machine.result);
}

static void reach(const struct facts *f, int32_t i, struct reached *r)
{
	if (i < 0 || f->seen[i]++)
		return;
	const struct flow_node *n = &f->w->nodes[i];
	r->whole |= f->role[i] == WHOLE;
	r->late |= f->role[i] == LATE;
	r->out |= f->role[i] == PLAIN && n->leave != FLOW_STAYS && !gives_nothing(f, i);
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

static struct reached reach_behind(const struct facts *f, size_t i)
{
	const int32_t behind[2] = { f->w->nodes[i].next, f->w->nodes[i].jump };
	return reach_from(f, behind, 2);
}

/* Every call passes exactly one whole exit, or exactly one late entry and then no whole exit. */
static bool is_partition(const struct facts *f)
{
	const int32_t entry = 0;
	struct reached r = reach_from(f, &entry, 1);
	bool good = !r.out && r.whole && r.late;
	for (size_t i = 0; i < f->w->nodes_cnt && good; i++) {
		if (f->role[i] == PLAIN)
			continue;
		r = reach_behind(f, i);
		good = !r.whole && !r.late;
	}
	return good;
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

static void find_whole(struct plan *p, const struct facts *f, const struct site *s)
{
	struct site_place at;
	for (size_t k = 0; k < s->exits_cnt; k++) {
		const struct site_exit *x = &p->list->exits[s->exits[k]];
		int32_t i = flow_find(f->w, x->vaddr);
		if (i >= 0 && is_own(p, s, s->exits[k]) && held_place(&f->held, p, (size_t)i, &at))
			f->role[i] = WHOLE;
	}
}

static bool is_call_of_callee(const struct facts *f, const struct site *s, size_t i)
{
	const struct flow_node *n = &f->w->nodes[i];
	return s->row->nest == ALYS_NEST_CALLER && n->in.flow == INSN_CALL && n->to && !strcmp(n->to, CALLEE) &&
	       f->held.size[i] & INSN_BIT(plan_arg_reg(s->row->arg[0])) &&
	       f->held.kind[i] & INSN_BIT(plan_arg_reg(s->row->kind_arg));
}

/* The call does not get a block that is at hand: it leads to none of the whole exits. */
static bool is_slow(const struct facts *f, const struct site *s, size_t i)
{
	struct reached r = reach_behind(f, i);
	return s->row->nest == ALYS_NEST_THREAD && r.out && !r.whole;
}

/* Marks places that could be a late entry. */
static void find_slow(struct plan *p, const struct facts *f, const struct site *s)
{
	struct site_place at;
	for (size_t i = 0; i < f->w->nodes_cnt; i++) {
		f->slow[i] = f->role[i] == PLAIN && held_place(&f->held, p, i, &at) &&
			     (is_call_of_callee(f, s, i) || is_slow(f, s, i));
	}
}

/* Of these, the first ones on each way; returns their number, and the last one in *late. */
static size_t find_late(const struct facts *f, size_t *late)
{
	const int32_t entry = 0;
	size_t found = 0;
	for (size_t i = 0; i < f->w->nodes_cnt; i++)
		f->role[i] = f->slow[i] ? LATE : f->role[i];
	reach_from(f, &entry, 1);
	for (size_t i = 0; i < f->w->nodes_cnt; i++) {
		if (f->role[i] != LATE)
			continue;
		f->role[i] = f->seen[i] ? LATE : PLAIN;
		*late = f->seen[i] ? i : *late;
		found += f->seen[i] != 0;
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
	struct site_place at;
	if (!held_place(&f->held, p, late, &at) || !elf_offset_of(p->funcs.elf, at.vaddr, &at.offset))
		return 0;
	s->late.at = at;
	for (size_t k = 0; k < s->exits_cnt; k++) {
		struct site_exit *x = &p->list->exits[s->exits[k]];
		int32_t i = flow_find(f->w, x->vaddr);
		if (i < 0 || f->role[i] != WHOLE)
			continue;
		x->whole_call_of = (uint32_t)(s - p->list->sites) + 1;
		held_place(&f->held, p, (size_t)i, &x->whole);
		x->whole.offset = x->offset;
	}
	return is_call_of_callee(f, s, late) && n->dest ? take_exits(p, s, n->dest) : 0;
}

static int find(struct plan *p, struct facts *f, struct site *s)
{
	size_t late = 0;
	find_whole(p, f, s);
	find_slow(p, f, s);
	return find_late(f, &late) == 1 && is_partition(f) ? take(p, f, s, late) : 0;
}

int direct_find(struct plan *p, struct site *s)
{
	struct body *b = plan_body(p, s->func, s->size);
	size_t n = b ? b->flow.nodes_cnt : 0;
	struct facts f = {
		.w = b ? &b->flow : NULL, .role = calloc(n + 1, 1), .slow = calloc(n + 1, 1), .seen = calloc(n + 1, 1)
	};
	int rc = b && f.role && f.slow && f.seen ? held_find(f.w, s, &f.held) : -ENOMEM;
	if (!rc && n && !f.w->unproven && !s->lost && !s->passed_on)
		rc = find(p, &f, s);
	held_free(&f.held);
	free(f.role);
	free(f.slow);
	free(f.seen);
	return rc;
}
