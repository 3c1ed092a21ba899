/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/result_exits: a function may end in tail calls of others, whose exits are then its own. First all functions through
 * which results leave are collected, then each gets its exits once, then every site gets those of the functions that it
 * can end in.
 */
#include "finder/result_exits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "code/exits.h"
#include "code/wire_register.h"

#define MAX_DEPTH 8
#define MAX_BODIES 256
#define MAX_POINTERS 16 /* of one site, each looked up among all relocations */

/* Functions in which the calls of one site can end. */
struct trail {
	struct plan *plan;
	struct site *site;
	struct body **through;
	size_t through_cnt, through_cap;
};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; name && i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_copy(const char *name)
{
	static const char *const names[] = { "memset", "__libc_memset", "memcpy", "memmove" };
	return is_one_of(name, names, sizeof(names) / sizeof(*names));
}

/* Frequently called functions in which allocators often end: probing them would cost too much. */
static bool is_busy(const char *name)
{
	static const char *const names[] = { "pthread_mutex_unlock" };
	return is_copy(name) || is_one_of(name, names, sizeof(names) / sizeof(*names));
}

static void lose(struct site *s, const struct flow_node *n, enum lost_way way)
{
	if (s->lost++)
		return;
	s->lost_why = (struct lost_reason){ .way = way, .vaddr = n->in.vaddr };
	snprintf(s->lost_why.to, sizeof(s->lost_why.to), "%s", n->to ?: "");
}

/*
 * Some functions return their first argument, so that the result is known at a jump to them: some callocs end in
 * memset(result, 0, n), libgc's allocators in GC_clear_stack(result). The jump is the better exit, because others pass
 * the exits of those functions all the time, and they may be in another file. If only `ret`s are trusted, it is the
 * only exit for memset.
 */
static bool returns_first_argument(const struct plan *p, const struct flow_node *n)
{
	static const char *const clear[] = { "GC_clear_stack" };
	bool gone = (n->in.flow == INSN_JUMP || n->in.flow == INSN_INDIRECT) && flow_at_entry_sp(n) &&
		    n->in.cost != INSN_REFUSED && (n->leave == FLOW_JUMPS_ON || n->leave == FLOW_LOST) &&
		    plan_cfa_ok((void *)p, n);
	return gone && (is_copy(n->to) || (p->options->cheap_exits && n->in.cost == INSN_EMULATED && is_one_of(n->to, clear, 1)));
}

static int follow(struct trail *t, struct body *b, int depth);

/* A probed function takes the waiting call over from the one that jumps to it. */
static bool is_taken_over(const struct trail *t, uint64_t vaddr)
{
	for (size_t i = 0; i < t->plan->list->sites_cnt; i++) {
		const struct site *s = &t->plan->list->sites[i];
		if (s->func == vaddr && s->state == SITE_PROBED && alloc_returns_block(s->row))
			return true;
	}
	return false;
}

/* dest: where it leads. */
static int follow_jump(struct trail *t, const struct flow_node *n, uint64_t dest, int depth)
{
	if (is_taken_over(t, dest)) {
		t->site->passed_on++;
		return 0;
	}
	if (is_busy(n->to)) {
		lose(t->site, n, LOST_BUSY);
		return 0;
	}
	if (depth >= MAX_DEPTH || t->plan->bodies_cnt >= MAX_BODIES) {
		lose(t->site, n, LOST_CHAIN);
		return 0;
	}
	const struct func *fn = funcs_at(&t->plan->funcs, dest);
	struct body *b = plan_body(t->plan, dest, fn && fn->vaddr == dest ? fn->size : 0);
	return b ? follow(t, b, depth + 1) : -ENOMEM;
}

/*
 * Of a jump through a pointer, which programs hardly ever change, where it leads at first; 0 = not known. That is right, or
 * only useless: the exits of a function that no call of the site reaches end no call of it.
 */
static uint64_t first_target(const struct trail *t, const struct flow_node *n)
{
	const struct site *s = t->site;
	const struct funcs *f = &t->plan->funcs;
	if (n->in.flow != INSN_INDIRECT || n->cfa != 8 || s->row->family != ALLOC_OWN || s->presumed + s->lost >= MAX_POINTERS)
		return 0;
	uint64_t to = elf_first_target(f->elf, n->in.vaddr);
	return to && funcs_is_code(f, to) ? to : 0;
}

static int follow_lost(struct trail *t, const struct flow_node *n, int depth)
{
	uint64_t dest = first_target(t, n);
	if (dest) {
		t->site->presumed++;
		return follow_jump(t, n, dest, depth);
	}
	lose(t->site, n, n->in.flow == INSN_INDIRECT ? LOST_COMPUTED : n->to ? LOST_ELSEWHERE : LOST_NOWHERE);
	return 0;
}

static int follow(struct trail *t, struct body *b, int depth)
{
	for (size_t i = 0; i < t->through_cnt; i++)
		if (t->through[i] == b)
			return 0;
	struct body **slot = VEC_PUSH(t, through);
	if (!slot)
		return -ENOMEM;
	*slot = b;
	b->leads_out = true;
	/* Nothing proves other exits of a function that only the user knows. */
	b->ret_only |= t->site->row->shape == ALYS_SHAPE_OUTPTR || t->site->row->shape == ALYS_SHAPE_BATCH ||
		       t->site->row->timed || t->site->row->family == ALLOC_OWN;
	b->with_calls &= t->site->row->nest == ALYS_NEST_CALLER;
	for (size_t i = 0; i < b->flow.nodes_cnt; i++) {
		const struct flow_node *n = &b->flow.nodes[i];
		int rc = 0;
		if (n->leave == FLOW_JUMPS_ON && !returns_first_argument(t->plan, n))
			rc = follow_jump(t, n, n->dest, depth);
		else if (n->leave == FLOW_LOST && !returns_first_argument(t->plan, n))
			rc = follow_lost(t, n, depth);
		if (rc)
			return rc;
	}
	return 0;
}

/* Finds functions that share code: a site chosen for one would be hit in calls of the other. */
static int find_overlaps(struct plan *p)
{
	struct map owner = { 0 };
	for (size_t i = 0; i < p->bodies_cnt; i++) {
		struct body *b = p->bodies[i];
		for (size_t k = 0; b->leads_out && k < b->flow.nodes_cnt; k++) {
			uint64_t *o = map_put(&owner, b->flow.nodes[k].in.vaddr);
			if (!o) {
				map_free(&owner);
				return -ENOMEM;
			}
			if (*o)
				b->ret_only = p->bodies[*o - 1]->ret_only = true;
			*o = i + 1;
		}
	}
	map_free(&owner);
	return 0;
}

static struct exit_reason ret_reason(const struct plan *p, const struct body *b, const struct flow_node *n)
{
	if (!p->options->cheap_exits || n->in.cost == INSN_EMULATED)
		return (struct exit_reason){ .choice = EXIT_UNASKED };
	if (b->flow.unproven)
		return (struct exit_reason){ .choice = EXIT_UNPROVEN, .doubt = b->flow.unproven };
	return (struct exit_reason){ .choice = b->ret_only ? EXIT_RET_ONLY : EXIT_NO_CHEAPER };
}

/* Index of the exit at this address; -1 = not in the list yet. */
static int64_t exit_at(const struct site_list *l, uint64_t vaddr)
{
	for (size_t i = 0; i < l->exits_cnt; i++)
		if (l->exits[i].vaddr == vaddr)
			return (int64_t)i;
	return -1;
}

static int add_exit(struct plan *p, struct body *b, const struct flow_node *n)
{
	struct site_exit x = { .vaddr = n->in.vaddr, .cfa_off = (uint32_t)n->cfa };
	x.emulated = n->in.cost == INSN_EMULATED;
	bool returns = n->leave == FLOW_RETURNS;
	x.plain = returns || (is_copy(n->to) && returns_first_argument(p, n));
	if (returns) {
		x.reg = wire_reg(INSN_BIT(insn_machine.result));
		x.why = ret_reason(p, b, n);
	} else if (returns_first_argument(p, n)) {
		x.reg = wire_reg(INSN_BIT(plan_arg_reg(0)));
	} else {
		x.reg = wire_reg(n->holds);
	}
	if (!elf_offset_of(p->funcs.elf, x.vaddr, &x.offset))
		return 0;
	const struct func *fn = funcs_at(&p->funcs, x.vaddr);
	if (fn) {
		snprintf(x.in, sizeof(x.in), "%.39s", fn->name);
		x.in_off = x.vaddr - fn->vaddr;
	}
	int64_t at = exit_at(p->list, x.vaddr);
	if (at < 0) {
		struct site_exit *slot = VEC_PUSH(p->list, exits);
		if (!slot)
			return -ENOMEM;
		*slot = x;
		at = (int64_t)p->list->exits_cnt - 1;
	}
	uint32_t *mine = VEC_PUSH(b, exits);
	if (!mine)
		return -ENOMEM;
	*mine = (uint32_t)at;
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct flow_node *const *x = a, *const *y = b;
	return (*x)->in.vaddr < (*y)->in.vaddr ? -1 : (*x)->in.vaddr > (*y)->in.vaddr;
}

static int exits_of(struct plan *p, struct body *b)
{
	struct exit_rules rules = {
		.cheap = p->options->cheap_exits && !b->ret_only, .with_calls = b->with_calls, .cfa_ok = plan_cfa_ok, .ctx = p
	};
	size_t n = b->flow.nodes_cnt, found = 0;
	uint8_t *picked = calloc(n + 1, 1);
	const struct flow_node **nodes = calloc(n + 1, sizeof(*nodes));
	int rc = picked && nodes ? exits_pick(&b->flow, &rules, picked) : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		if (picked[i] || returns_first_argument(p, &b->flow.nodes[i]))
			nodes[found++] = &b->flow.nodes[i];
	if (found)
		qsort(nodes, found, sizeof(*nodes), compare_nodes);
	for (size_t i = 0; !rc && i < found; i++)
		rc = add_exit(p, b, nodes[i]);
	free(picked);
	free(nodes);
	return rc;
}

static int give_exits(const struct trail *t)
{
	for (size_t i = 0; i < t->through_cnt; i++) {
		const struct body *b = t->through[i];
		for (size_t k = 0; k < b->exits_cnt; k++) {
			bool known = false;
			for (size_t m = 0; m < t->site->exits_cnt; m++)
				known |= t->site->exits[m] == b->exits[k];
			uint32_t *slot = known ? NULL : VEC_PUSH(t->site, exits);
			if (!known && !slot)
				return -ENOMEM;
			if (slot)
				*slot = b->exits[k];
		}
	}
	return 0;
}

int result_exits_find(struct plan *p)
{
	size_t n = p->list->sites_cnt;
	struct trail *trails = calloc(n + 1, sizeof(*trails));
	int rc = trails ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++) {
		struct site *s = &p->list->sites[i];
		trails[i] = (struct trail){ .plan = p, .site = s };
		if (s->state != SITE_PROBED || !plan_ends_wanted(s))
			continue;
		struct body *b = plan_body(p, s->func, s->size);
		rc = b ? follow(&trails[i], b, 0) : -ENOMEM;
	}
	if (!rc)
		rc = find_overlaps(p);
	for (size_t i = 0; !rc && i < p->bodies_cnt; i++)
		if (p->bodies[i]->leads_out)
			rc = exits_of(p, p->bodies[i]);
	for (size_t i = 0; !rc && i < n; i++)
		rc = give_exits(&trails[i]);
	for (size_t i = 0; trails && i < n; i++)
		free(trails[i].through);
	free(trails);
	return rc;
}
