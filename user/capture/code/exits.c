/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/exits: picks exit sites as a cut through a function's control flow. From each `ret` it walks back along all paths
 * until each has reached an emulated instruction where the result is already in a register; if a path has none, the
 * `ret` itself is used. Then superfluous sites are dropped, and if two would still be hit in one call, the `ret`s after
 * them are used instead.
 *
 *   ... mov r13,rax          result known from here on
 *       jne A                <- site: every path to the `ret` passes it
 *    B: add rsp,8; mov rax,r13; pop...; ret
 *    A: call x; jmp B        <- also a candidate, but all its paths pass `jne A`: superfluous
 */
#include "code/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/values.h"

struct cut {
	struct flow *w;
	const struct exit_rules *rules;
	uint8_t *picked;
	uint8_t *seen;
	int32_t *todo;
	size_t todo_cnt;
	int32_t *pred_first, *preds; /* of node i: preds[pred_first[i + 1] .. pred_first[i + 2]) */
};

static void push(struct cut *c, int32_t node)
{
	if (node >= 0 && !c->seen[node]) {
		c->seen[node] = 1;
		c->todo[c->todo_cnt++] = node;
	}
}

static void start(struct cut *c)
{
	memset(c->seen, 0, c->w->nodes_cnt);
	c->todo_cnt = 0;
}

static void push_next(struct cut *c, int32_t node)
{
	push(c, c->w->nodes[node].next);
	push(c, c->w->nodes[node].jump);
}

static void list_preds(struct cut *c)
{
	size_t n = c->w->nodes_cnt;
	for (size_t i = 0; i < n; i++) {
		const int32_t to[2] = { c->w->nodes[i].next, c->w->nodes[i].jump };
		for (int k = 0; k < 2; k++)
			if (to[k] >= 0)
				c->pred_first[to[k] + 1]++;
	}
	for (size_t i = 0; i < n; i++)
		c->pred_first[i + 1] += c->pred_first[i];
	c->pred_first[n + 1] = c->pred_first[n];
	/* Filling moves each start down into the place of an end: node i's is then at i + 1. */
	for (size_t i = n; i-- > 0;) {
		const int32_t to[2] = { c->w->nodes[i].next, c->w->nodes[i].jump };
		for (int k = 0; k < 2; k++)
			if (to[k] >= 0)
				c->preds[--c->pred_first[to[k] + 1]] = (int32_t)i;
	}
}

static void push_preds(struct cut *c, int32_t node)
{
	for (int32_t k = c->pred_first[node + 1]; k < c->pred_first[node + 2]; k++)
		push(c, c->preds[k]);
}

static bool is_candidate(const struct cut *c, const struct flow_node *n)
{
	return n->in.cost == INSN_EMULATED && n->holds && flow_cfa_known(n) && !n->no_return &&
	       (c->rules->with_calls || !n->calls_later) && (!c->rules->cfa_ok || c->rules->cfa_ok(c->rules->ctx, n));
}

/* Marks the candidates nearest to this `ret` on all paths; false if a path has none. */
static bool cut_before(struct cut *c, int32_t ret, uint8_t *found)
{
	start(c);
	push_preds(c, ret);
	if (c->w->nodes[ret].root)
		return false;
	while (c->todo_cnt) {
		int32_t i = c->todo[--c->todo_cnt];
		const struct flow_node *n = &c->w->nodes[i];
		if (is_candidate(c, n)) {
			found[i] = 1;
			continue;
		}
		if (!n->holds || n->root)
			return false;
		push_preds(c, i);
	}
	return true;
}

/* Can control come from the entry to node without passing another site? */
static bool is_reached_first(struct cut *c, int32_t node)
{
	start(c);
	for (size_t i = 0; i < c->w->nodes_cnt; i++)
		if (c->w->nodes[i].root)
			push(c, (int32_t)i);
	while (c->todo_cnt) {
		int32_t i = c->todo[--c->todo_cnt];
		if (i == node)
			return true;
		if (!c->picked[i])
			push_next(c, i);
	}
	return false;
}

struct ahead {
	bool site; /* another site, or the same one again, lies ahead */
	bool end;  /* a return can be reached without one */
};

static struct ahead look_ahead(struct cut *c, int32_t node)
{
	struct ahead a = { false, c->w->nodes[node].leave == FLOW_RETURNS };
	start(c);
	push_next(c, node);
	while (c->todo_cnt) {
		int32_t i = c->todo[--c->todo_cnt];
		if (c->picked[i]) {
			a.site = true;
			continue;
		}
		a.end |= c->w->nodes[i].leave == FLOW_RETURNS;
		push_next(c, i);
	}
	return a;
}

/* Replaces a site by the `ret`s after it. */
static void fall_back(struct cut *c, int32_t node)
{
	c->picked[node] = 0;
	start(c);
	push_next(c, node);
	while (c->todo_cnt) {
		int32_t i = c->todo[--c->todo_cnt];
		if (c->w->nodes[i].leave == FLOW_RETURNS)
			c->picked[i] = 1;
		push_next(c, i);
	}
}

static void drop_superfluous(struct cut *c)
{
	for (size_t i = 0; i < c->w->nodes_cnt; i++)
		if (c->picked[i] && !is_reached_first(c, (int32_t)i))
			c->picked[i] = 0;
	for (size_t i = 0; i < c->w->nodes_cnt; i++) {
		if (!c->picked[i] || c->w->nodes[i].leave == FLOW_RETURNS)
			continue;
		struct ahead a = look_ahead(c, (int32_t)i);
		if (a.site && !a.end)
			c->picked[i] = 0;
	}
}

/* Marks in `ahead` what can be reached from the node; false if the node itself can be. */
static bool list_ahead(struct cut *c, int32_t node, uint8_t *ahead)
{
	start(c);
	push_next(c, node);
	while (c->todo_cnt)
		push_next(c, c->todo[--c->todo_cnt]);
	memcpy(ahead, c->seen, c->w->nodes_cnt);
	return !ahead[node];
}

/*
 * Removes site k, and adds sites before it for calls that pass no other one, but none after the site that it conflicts
 * with. False if there is a path without such a place.
 */
static bool move_back(struct cut *c, int32_t k, const uint8_t *ahead)
{
	c->picked[k] = 0;
	start(c);
	push_preds(c, k);
	while (c->todo_cnt) {
		int32_t i = c->todo[--c->todo_cnt];
		const struct flow_node *n = &c->w->nodes[i];
		if (c->picked[i])
			continue;
		if (!ahead[i] && is_candidate(c, n)) {
			c->picked[i] = 1;
			continue;
		}
		if (!n->holds || n->root)
			return false;
		push_preds(c, i);
	}
	return !c->w->nodes[k].root;
}

/* Two paths part after a site, and one of them has another site: moves that back, so that the first one sees both. */
static bool move_all_back(struct cut *c, int32_t node)
{
	size_t n = c->w->nodes_cnt;
	uint8_t *ahead = calloc(n + 1, 1);
	bool moved = ahead && list_ahead(c, node, ahead);
	for (size_t k = 0; k < n && moved; k++) {
		if (ahead[k] && c->picked[k])
			moved = c->w->nodes[k].leave != FLOW_RETURNS && move_back(c, (int32_t)k, ahead);
	}
	free(ahead);
	return moved;
}

#define MOVES_MAX 16

/* The first rounds may move sites; each later one replaces at least one cheap site by `ret`s, so this terminates. */
static void settle_conflicts(struct cut *c)
{
	bool changed = true;
	for (int round = 0; changed; round++) {
		changed = false;
		for (size_t i = 0; i < c->w->nodes_cnt; i++) {
			if (!c->picked[i] || c->w->nodes[i].leave == FLOW_RETURNS)
				continue;
			if (!look_ahead(c, (int32_t)i).site)
				continue;
			if (round >= MOVES_MAX || !move_all_back(c, (int32_t)i))
				fall_back(c, (int32_t)i);
			changed = true;
		}
	}
}

static void pick_rets(const struct flow *w, uint8_t *picked)
{
	for (size_t i = 0; i < w->nodes_cnt; i++)
		picked[i] = w->nodes[i].leave == FLOW_RETURNS;
}

static void pick_cheap(struct cut *c, uint8_t *found)
{
	size_t n = c->w->nodes_cnt;
	for (size_t i = 0; i < n; i++) {
		if (c->w->nodes[i].leave != FLOW_RETURNS)
			continue;
		memset(found, 0, n);
		/* Where the kernel emulates a `ret`, nothing is cheaper. */
		if (c->w->nodes[i].in.cost != INSN_EMULATED && cut_before(c, (int32_t)i, found)) {
			for (size_t k = 0; k < n; k++)
				c->picked[k] |= found[k];
		} else {
			c->picked[i] = 1;
		}
	}
	drop_superfluous(c);
	settle_conflicts(c);
}

int exits_pick(struct flow *w, const struct exit_rules *r, uint8_t *picked)
{
	size_t n = w->nodes_cnt;
	if (!r->cheap || w->unproven || !values_held(w)) {
		pick_rets(w, picked);
		return 0;
	}
	struct cut c = { .w = w, .rules = r, .picked = picked };
	uint8_t *found = calloc(n + 1, 1);
	c.seen = calloc(n + 1, 1);
	c.todo = calloc(n + 1, sizeof(*c.todo));
	c.pred_first = calloc(n + 2, sizeof(*c.pred_first));
	c.preds = calloc(2 * n + 1, sizeof(*c.preds));
	int rc = found && c.seen && c.todo && c.pred_first && c.preds ? 0 : -ENOMEM;
	if (!rc) {
		list_preds(&c);
		pick_cheap(&c, found);
	}
	free(found);
	free(c.seen);
	free(c.todo);
	free(c.pred_first);
	free(c.preds);
	return rc;
}
