/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/values: where values go. Backwards: which registers already hold what will be returned. Forwards: whether what
 * is returned came from a function that is probed itself; which addresses registers hold.
 */
#include "code/values.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS 64 /* compilers' code needs a few; malicious code is given up */

static insn_regs holds_before(const struct insn *in, insn_regs after)
{
	if (in->flow == INSN_CALL)
		return after & insn_machine.call_keeps;
	insn_regs before = after & ~in->writes;
	if (in->copy_to >= 0 && (after & INSN_BIT(in->copy_to)))
		before |= INSN_BIT(in->copy_from);
	return before & insn_machine.data;
}

/*
 * Out of memory: libgc calls a function of the user, which normally returns no block. Exits before it see that there is
 * none. If this path's result counted, GC_generic_malloc would need an exit at its single-stepped `ret`.
 */
bool values_last_resort(const struct flow_node *n)
{
	return n->in.flow == INSN_CALL && n->to && !strcmp(n->to, "GC_get_oom_fn");
}

/* One backward step at node n: true when something changed. */
static bool step_back(struct flow *w, struct flow_node *n)
{
	insn_regs after = insn_machine.data;
	bool calls = n->in.flow == INSN_CALL;
	const int32_t to[2] = { n->next, n->jump };

	if (n->leave == FLOW_JUMPS_ON || n->leave == FLOW_LOST)
		after = 0;
	if (n->no_return)
		calls = false;
	for (int k = 0; k < 2; k++) {
		if (to[k] < 0)
			continue;
		after &= w->nodes[to[k]].holds;
		calls |= w->nodes[to[k]].calls_later;
	}
	insn_regs holds = n->no_return || values_last_resort(n) ? n->holds : holds_before(&n->in, after);
	if (n->leave == FLOW_RETURNS)
		holds = INSN_BIT(insn_machine.result);
	bool changed = holds != n->holds || calls != n->calls_later;
	n->holds = holds;
	n->calls_later = calls;
	return changed;
}

/* One step: does some way lead from the node out of the function? */
static bool step_out(const struct flow *w, size_t i, bool *leaves)
{
	const struct flow_node *n = &w->nodes[i];
	bool was = leaves[i];
	leaves[i] |= n->leave != FLOW_STAYS || (n->next >= 0 && leaves[n->next]) || (n->jump >= 0 && leaves[n->jump]);
	return leaves[i] != was;
}

/* Of a way that only ends the program, as after a failed assertion, no register matters. */
static bool hold_results(struct flow *w, bool *leaves)
{
	bool changed = true;
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = w->nodes_cnt; i-- > 0;)
			changed |= step_out(w, i, leaves);
	}
	if (changed)
		return false;
	changed = true;
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = w->nodes_cnt; i-- > 0;)
			changed |= leaves[i] && step_back(w, &w->nodes[i]);
	}
	return !changed;
}

bool values_held(struct flow *w)
{
	bool *leaves = calloc(w->nodes_cnt + 1, sizeof(*leaves));
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		w->nodes[i].holds = insn_machine.data;
		w->nodes[i].calls_later = false;
	}
	bool found = leaves && hold_results(w, leaves);
	free(leaves);
	return found;
}

struct origin {
	struct flow *w;
	counted_fn counted;
	void *ctx;
	insn_regs *from; /* per node: registers that hold a counted function's result, or 0 */
};

static insn_regs from_after(const struct origin *o, const struct flow_node *n, insn_regs before)
{
	const struct insn *in = &n->in;
	if (in->flow == INSN_CALL) {
		insn_regs kept = before & insn_machine.call_keeps;
		return n->dest && o->counted(o->ctx, n->dest, true) ? kept | INSN_BIT(insn_machine.result) : kept;
	}
	insn_regs after = before & ~in->writes;
	if (in->copy_to >= 0 && (before & INSN_BIT(in->copy_from)))
		after |= INSN_BIT(in->copy_to);
	if (in->zeroes >= 0)
		after |= INSN_BIT(in->zeroes);
	return after;
}

static bool step_forward(struct origin *o, size_t i)
{
	const struct flow_node *n = &o->w->nodes[i];
	insn_regs after = from_after(o, n, o->from[i]);
	const int32_t to[2] = { n->next, n->jump };
	bool changed = false;

	for (int k = 0; k < 2; k++) {
		if (to[k] < 0 || (o->from[to[k]] & after) == o->from[to[k]])
			continue;
		o->from[to[k]] &= after;
		changed = true;
	}
	return changed;
}

static bool ends_counted(const struct origin *o)
{
	bool any = false;
	for (size_t i = 0; i < o->w->nodes_cnt; i++) {
		const struct flow_node *n = &o->w->nodes[i];
		if (n->leave == FLOW_LOST || (n->leave == FLOW_RETURNS && !(o->from[i] & INSN_BIT(insn_machine.result))) ||
		    (n->leave == FLOW_JUMPS_ON && !o->counted(o->ctx, n->dest, false)))
			return false;
		any |= n->leave != FLOW_STAYS;
	}
	return any;
}

bool values_come_counted(struct flow *w, counted_fn counted, void *ctx)
{
	struct origin o = { w, counted, ctx, NULL };
	bool changed = true, yes = false;

	if (w->unproven || !w->nodes_cnt)
		return false;
	o.from = malloc(w->nodes_cnt * sizeof(*o.from));
	if (!o.from)
		return false;
	for (size_t i = 0; i < w->nodes_cnt; i++)
		o.from[i] = w->nodes[i].root ? 0 : insn_machine.data;
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < w->nodes_cnt; i++)
			changed |= step_forward(&o, i);
	}
	yes = !changed && ends_counted(&o);
	free(o.from);
	return yes;
}

bool values_go_counted(struct flow *w, int reg, counted_fn counted, void *ctx)
{
	bool yes = !w->unproven && w->nodes_cnt, any = false;
	int32_t *todo = calloc(w->nodes_cnt * 2 + 1, sizeof(*todo));
	uint8_t *seen = calloc(w->nodes_cnt + 1, 1);
	size_t n_todo = 0;

	if (!todo || !seen)
		yes = false;
	else if (w->nodes_cnt)
		todo[n_todo++] = 0;
	while (yes && n_todo) {
		int32_t i = todo[--n_todo];
		const struct flow_node *n = &w->nodes[i];
		if (seen[i]++)
			continue;
		bool call = n->in.flow == INSN_CALL;
		if (n->dest && counted(ctx, n->dest, call)) {
			any = true;
			if (n->in.flow == INSN_BRANCH && n->next >= 0)
				todo[n_todo++] = n->next;
			continue;
		}
		int32_t only = flow_not_null(w, i, reg);
		/* A function that writes memory may do bookkeeping: then it may free blocks itself. */
		yes = n->leave == FLOW_STAYS && !n->in.stores;
		if (only < 0 && n->jump >= 0)
			todo[n_todo++] = n->jump;
		if (only < 0 && n->next >= 0)
			todo[n_todo++] = n->next;
		if (only >= 0)
			todo[n_todo++] = only;
	}
	free(todo);
	free(seen);
	return yes && any;
}

static bool narrow(struct insn_known *known, const struct insn_known *by)
{
	bool changed = false;
	for (size_t i = 0; i < INSN_REGS; i++) {
		struct insn_value *v = &known->of[i];
		if (v->origin == INSN_UNKNOWN || (v->origin == by->of[i].origin && v->value == by->of[i].value))
			continue;
		*v = (struct insn_value){ 0 };
		changed = true;
	}
	return changed;
}

/* One step from a node that was reached; true if something changed. */
static bool know_step(const struct flow *w, size_t i, struct insn_known *known, bool *reached)
{
	const struct flow_node *n = &w->nodes[i];
	const int32_t to[2] = { n->next, n->jump };
	const uint8_t *bytes = elf_bytes(w->funcs->elf, n->in.vaddr, n->in.len);
	struct insn_known after = known[i];
	bool changed = false;
	if (bytes)
		insn_know(&after, bytes, &n->in);
	for (int k = 0; k < 2; k++) {
		if (to[k] < 0 || w->nodes[to[k]].root)
			continue;
		if (reached[to[k]]) {
			changed |= narrow(&known[to[k]], &after);
			continue;
		}
		known[to[k]] = after;
		reached[to[k]] = changed = true;
	}
	return changed;
}

struct insn_known *values_known(const struct flow *w)
{
	struct insn_known *known = calloc(w->nodes_cnt + 1, sizeof(*known));
	bool *reached = calloc(w->nodes_cnt + 1, sizeof(*reached));
	bool changed = known && reached;
	if (!changed) {
		free(known);
		known = NULL;
	}
	for (int round = 0; changed && round < MAX_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < w->nodes_cnt; i++) {
			if (reached[i] || w->nodes[i].root)
				changed |= know_step(w, i, known, reached);
		}
	}
	if (changed)
		memset(known, 0, w->nodes_cnt * sizeof(*known));
	free(reached);
	return known;
}
