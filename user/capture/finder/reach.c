/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/reach: can a function reach another probed one? Follows its direct calls through the file, but not into
 * functions that never return, which only end the program. In a known allocator, computed calls (page hooks) and calls
 * of other files (locks, system calls) allocate nothing, and a function reaches another one within a few calls: what is
 * deeper sets up a thread or the allocator, one call in millions. About unknown code nothing is assumed.
 */
#include "finder/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define MAX_REACHED 1024
#define KNOWN_DEPTH 3 /* posix_memalign -> _mid_memalign -> malloc, and one to spare */

struct reach {
	struct plan *plan;
	const struct site *site;
	bool known; /* the code is a known allocator's */
	bool found; /* another probed function, or unknown code */
	struct reached {
		struct body *body;
		int depth;
	} * bodies;
	size_t bodies_cnt, bodies_cap;
};

static const struct site *probed_at(const struct site_list *l, uint64_t func)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		if (s->func == func && s->state == SITE_PROBED && alloc_returns_block(s->row))
			return s;
	}
	return NULL;
}

static bool is_row(const char *name)
{
	size_t n;
	const struct allocator *rows = allocators(&n);
	for (size_t i = 0; i < n; i++) {
		if (alloc_returns_block(&rows[i]) && !strcmp(rows[i].symbol, name))
			return true;
	}
	return false;
}

static bool comes_back(const struct flow *w)
{
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		if (w->nodes[i].leave != FLOW_STAYS)
			return true;
	}
	return !w->nodes_cnt;
}

#define NEIGHBOURS 64 /* bytes of filler between functions of one source */

/*
 * Adds code whose calls of probed functions are the allocator's own. Adjacent ranges are joined; without room, the last
 * range is extended.
 */
static void put_inner(struct alys_range *ranges, struct alys_range r)
{
	size_t i = 0;
	while (i < ALYS_MAX_INNER - 1 && ranges[i].lo && (r.lo > ranges[i].hi + NEIGHBOURS || r.hi + NEIGHBOURS < ranges[i].lo))
		i++;
	if (!ranges[i].lo)
		ranges[i] = r;
	ranges[i].lo = r.lo < ranges[i].lo ? r.lo : ranges[i].lo;
	ranges[i].hi = r.hi > ranges[i].hi ? r.hi : ranges[i].hi;
}

/*
 * + 1: the return address of a call at the end of a function is the address after it. An open function's own are only its
 * calls of others that the user names.
 */
static void note_inner(struct reach *r, const struct flow_node *n, const struct site *to)
{
	uint64_t back = n->in.vaddr + n->in.len;
	const struct allocator *row = r->site->row;
	const struct func *fn = row->open ? NULL : funcs_at(&r->plan->funcs, n->in.vaddr);
	struct alys_range range = { fn ? fn->vaddr : back, fn ? fn->vaddr + fn->size + 1 : back + 1 };
	bool inner = row->open ? to && to->row->family == ALLOC_OWN : row->runs_user_code;
	if (inner && n->in.flow == INSN_CALL)
		put_inner(r->plan->list->inner, range);
}

static int visit(struct reach *r, uint64_t vaddr, uint64_t size, int depth)
{
	for (size_t i = 0; i < r->bodies_cnt; i++) {
		if (r->bodies[i].body->flow.entry == vaddr)
			return 0;
	}
	if (r->known && depth >= KNOWN_DEPTH)
		return 0;
	if (r->bodies_cnt >= MAX_REACHED) {
		r->found = true;
		return 0;
	}
	struct body *b = plan_body(r->plan, vaddr, size);
	struct reached *slot = b ? VEC_PUSH(r, bodies) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = (struct reached){ b, depth };
	return 0;
}

static int visit_node(struct reach *r, const struct flow_node *n, int depth)
{
	bool goes = n->in.flow == INSN_CALL || n->leave == FLOW_JUMPS_ON || n->leave == FLOW_LOST;
	const struct site *to = n->dest ? probed_at(r->plan->list, n->dest) : NULL;
	if (!goes || n->no_return)
		return 0;
	if (to || (!n->dest && n->to && is_row(n->to)) || (!n->dest && !r->known)) {
		r->found = true;
		note_inner(r, n, to);
		return 0;
	}
	if (!n->dest)
		return 0;
	const struct func *fn = funcs_at(&r->plan->funcs, n->dest);
	return visit(r, n->dest, fn && fn->vaddr == n->dest ? fn->size : 0, depth + 1);
}

static int follow(struct reach *r)
{
	int rc = visit(r, r->site->func, r->site->size, 0);
	for (size_t i = 0; i < r->bodies_cnt && !rc; i++) {
		const struct flow *w = &r->bodies[i].body->flow;
		int depth = r->bodies[i].depth;
		if (i && !comes_back(w))
			continue;
		for (size_t k = 0; k < w->nodes_cnt && !rc; k++)
			rc = visit_node(r, &w->nodes[k], depth);
	}
	return rc;
}

/* Does the site belong to a known allocator? */
static bool is_known(const struct plan *p, const struct site *s)
{
	enum alloc_family family = s->row->family;
	return family != ALLOC_OWN && (p->provider || (family != ALLOC_LIBC && family != ALLOC_CXX));
}

int reach_find(struct plan *p)
{
	int rc = 0;
	for (size_t i = 0; i < p->list->sites_cnt && !rc; i++) {
		struct site *s = &p->list->sites[i];
		struct reach r = { .plan = p, .site = s, .known = is_known(p, s) };
		if (s->state != SITE_PROBED || !alloc_returns_block(s->row))
			continue;
		s->jumps = s->passed_on || s->presumed || (s->lost && !r.known);
		/* Nested calls of a collector are recognized by their caller, whether or not the outer one is followed. */
		if (s->row->nest == ALYS_NEST_THREAD)
			rc = follow(&r);
		s->leaf = s->row->nest == ALYS_NEST_CALLER || !(r.found || s->jumps);
		free(r.bodies);
	}
	return rc;
}
