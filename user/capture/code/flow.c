/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/flow: discovers the instructions of one function from its entry, following direct jumps, and tracks the stack
 * and frame pointers. Code of the function that was not reached (jump tables, landing pads) is added as further roots,
 * so that no path to a return is overlooked.
 */
#include "code/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define MAX_NODES 8192
#define MAX_SPAN 65536 /* bytes of one sized function */
#define MAX_UNSIZED 16384
#define MAX_FRAME (1 << 24)

struct state {
	int32_t cfa, frame;
};

static void doubt(struct flow *w, enum flow_doubt why)
{
	if (!w->unproven)
		w->unproven = why;
}

int32_t flow_find(const struct flow *w, uint64_t vaddr)
{
	const uint64_t *at = map_get(&w->at, vaddr);
	return at ? (int32_t)*at : -1;
}

static bool decode_at(const struct flow *w, uint64_t vaddr, struct insn *in)
{
	for (size_t n = INSN_MAX_LEN; n; n--) {
		const uint8_t *bytes = elf_bytes(w->funcs->elf, vaddr, n);
		if (bytes)
			return insn_decode(bytes, n, vaddr, in);
	}
	return false;
}

/* The node at vaddr, created if new. -1: no code there or too much of it; -ENOMEM. */
static int32_t reach(struct flow *w, uint64_t vaddr, struct state s)
{
	int32_t known = flow_find(w, vaddr);
	if (known >= 0) {
		const struct flow_node *n = &w->nodes[known];
		if (flow_cfa_known(n) && s.cfa != FLOW_NO_CFA && s.cfa != n->cfa)
			doubt(w, FLOW_STACK_DIFFERS);
		return known;
	}
	struct insn in;
	if (w->nodes_cnt >= MAX_NODES || !funcs_is_code(w->funcs, vaddr) || !decode_at(w, vaddr, &in))
		return -1;
	struct flow_node *n = VEC_PUSH(w, nodes);
	uint64_t *at = n ? map_put(&w->at, vaddr) : NULL;
	if (!at)
		return -ENOMEM;
	*at = w->nodes_cnt - 1;
	*n = (struct flow_node){ .in = in, .next = -1, .jump = -1, .cfa = s.cfa, .frame = s.frame };
	return (int32_t)*at;
}

static int32_t plausible_frame(int64_t off)
{
	return off > 0 && off < MAX_FRAME ? (int32_t)off : 0;
}

static int32_t plausible_cfa(int64_t off)
{
	return off >= insn_machine.entry_cfa && off < MAX_FRAME ? (int32_t)off : FLOW_NO_CFA;
}

static struct state state_after(const struct flow_node *n)
{
	struct state s = { n->cfa, n->frame };
	const struct insn *in = &n->in;

	if (in->frame == INSN_BP_FROM_SP)
		s.frame = flow_cfa_known(n) ? plausible_frame((int64_t)n->cfa - in->bp_delta) : 0;
	else if (in->frame == INSN_BP_LOST)
		s.frame = 0;
	switch (in->stack) {
	case INSN_SP_KEPT: break;
	case INSN_SP_ADD: s.cfa = flow_cfa_known(n) ? plausible_cfa((int64_t)n->cfa - in->sp_delta) : FLOW_NO_CFA; break;
	case INSN_SP_FROM_BP: s.cfa = n->frame ? plausible_cfa((int64_t)n->frame - in->sp_delta) : FLOW_NO_CFA; break;
	case INSN_SP_LEAVE: s.cfa = n->frame ? plausible_cfa((int64_t)n->frame - 8) : FLOW_NO_CFA; break;
	case INSN_SP_LOST: s.cfa = FLOW_NO_CFA; break;
	}
	return s;
}

static bool never_returns(const char *name)
{
	static const char *const names[] = { "__stack_chk_fail", "abort",          "exit",           "_exit",
					     "__assert_fail",    "__libc_fatal",   "_Unwind_Resume", "__cxa_throw",
					     "__cxa_rethrow",    "_ZSt9terminatev" };
	if (!name)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_");
}

static bool is_inside(const struct flow *w, uint64_t vaddr)
{
	return vaddr >= w->lo && vaddr < w->hi;
}

/* Does falling through to `next` leave the function, into padding or another function? */
static bool is_border(const struct flow *w, uint64_t from, uint64_t next)
{
	if (is_inside(w, from) && next == w->hi)
		return true;
	const struct func *fn = funcs_at(w->funcs, next);
	return fn && fn->vaddr == next && next != w->entry;
}

static int fall_through(struct flow *w, int32_t i, struct state after)
{
	struct flow_node *n = &w->nodes[i];
	uint64_t next = n->in.vaddr + n->in.len;

	if (is_border(w, n->in.vaddr, next)) {
		n->no_return = n->in.flow == INSN_CALL || n->in.padding;
		if (!n->no_return)
			n->leave = FLOW_LOST;
		return 0;
	}
	int32_t to = reach(w, next, after);
	if (to == -ENOMEM)
		return to;
	w->nodes[i].next = to;
	if (to < 0) {
		w->nodes[i].leave = FLOW_LOST;
		doubt(w, FLOW_NOT_FOLLOWED);
	}
	return 0;
}

/* By its name: FUNCTION.cold, perhaps with a number. */
static bool is_cold_part(const struct flow *w, uint64_t vaddr)
{
	const struct func *own = funcs_at(w->funcs, w->entry), *to = funcs_at(w->funcs, vaddr);
	size_t n = own ? strlen(own->name) : 0;
	return own && to && !strncmp(to->name, own->name, n) && !strncmp(to->name + n, ".cold", 5);
}

/*
 * A jump stays in the function if it leads into its range, or if the frame is still set up: then the target is a part
 * that the compiler moved elsewhere (.cold). Where exceptions land the frame is not known, but the part's name is.
 * Otherwise it is a tail call.
 */
static int jump_to_target(struct flow *w, int32_t i, struct state after)
{
	struct flow_node *n = &w->nodes[i];
	uint64_t target = n->in.target;
	bool ends = flow_at_entry_sp(n) || (!flow_cfa_known(n) && !is_cold_part(w, target));

	if (!is_inside(w, target) && ends) {
		n->leave = FLOW_LOST;
		if (funcs_follow(w->funcs, target, &n->dest, &n->to) && flow_cfa_known(n))
			n->leave = FLOW_JUMPS_ON;
		return 0;
	}
	int32_t to = reach(w, target, after);
	if (to == -ENOMEM)
		return to;
	w->nodes[i].jump = to;
	if (to < 0) {
		w->nodes[i].leave = FLOW_LOST;
		doubt(w, FLOW_NOT_FOLLOWED);
	}
	return 0;
}

static int go_on(struct flow *w, int32_t i)
{
	struct flow_node *n = &w->nodes[i];
	struct state after = state_after(n);
	int rc = 0;

	switch (n->in.flow) {
	case INSN_RETURN:
		n->leave = FLOW_RETURNS;
		if (flow_cfa_known(n) && !flow_at_entry_sp(n))
			doubt(w, FLOW_UNBALANCED);
		n->cfa = insn_machine.entry_cfa;
		return 0;
	case INSN_STOP: n->no_return = true; return 0;
	case INSN_INDIRECT:
		n->leave = FLOW_LOST;
		if (funcs_follow_slot(w->funcs, n->in.vaddr, &n->dest, &n->to) && flow_at_entry_sp(n))
			n->leave = FLOW_JUMPS_ON;
		if (!flow_at_entry_sp(n))
			doubt(w, FLOW_COMPUTED_JUMP);
		return 0;
	case INSN_JUMP: return jump_to_target(w, i, after);
	case INSN_BRANCH: rc = jump_to_target(w, i, after); return rc ? rc : fall_through(w, i, after);
	case INSN_CALL:
		if (n->in.target ? !funcs_follow(w->funcs, n->in.target, &n->dest, &n->to)
				 : !funcs_follow_slot(w->funcs, n->in.vaddr, &n->dest, &n->to))
			n->dest = 0;
		n->no_return = never_returns(n->to);
		return n->no_return ? 0 : fall_through(w, i, after);
	case INSN_NEXT: return fall_through(w, i, after);
	}
	return 0;
}

static int explore(struct flow *w, uint64_t from, struct state s)
{
	size_t done = w->nodes_cnt;
	int32_t root = reach(w, from, s);
	if (root < 0)
		return root == -ENOMEM ? root : 0;
	w->nodes[root].root = true;
	for (; done < w->nodes_cnt; done++) {
		int rc = go_on(w, (int32_t)done);
		if (rc)
			return rc;
	}
	return 0;
}

static bool has_computed_jump(const struct flow *w)
{
	for (size_t i = 0; i < w->nodes_cnt; i++)
		if (w->nodes[i].in.flow == INSN_INDIRECT && !w->nodes[i].to)
			return true;
	return false;
}

/* Explores code in the function's range that was not reached, except padding. */
static int explore_rest(struct flow *w)
{
	bool computed = has_computed_jump(w);
	for (uint64_t at = w->lo; at < w->hi;) {
		int32_t i = flow_find(w, at);
		struct insn in;
		if (i >= 0 || !decode_at(w, at, &in)) {
			at += i >= 0 ? w->nodes[i].in.len : 1;
			continue;
		}
		if (in.padding) {
			at += in.len;
			continue;
		}
		if (computed)
			doubt(w, FLOW_COMPUTED_JUMP);
		size_t before = w->nodes_cnt;
		int rc = explore(w, at, (struct state){ FLOW_NO_CFA, 0 });
		if (rc || w->nodes_cnt == before)
			return rc;
	}
	return 0;
}

/* The first node behind padding; -1: there is none. */
static int32_t behind_padding(const struct flow *w, int32_t i)
{
	while (i >= 0 && w->nodes[i].in.padding)
		i = w->nodes[i].next;
	return i;
}

/* Do jumps lead there, and all of them onwards? Jumps back make it the head of a loop. */
static bool is_jumped_to(const struct flow *w, int32_t to)
{
	bool any = false, back = false;
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		any |= w->nodes[i].jump == to;
		back |= w->nodes[i].jump == to && w->nodes[i].in.vaddr >= w->nodes[to].in.vaddr;
	}
	return any && !back;
}

static void count_preds(struct flow *w)
{
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		const struct flow_node *n = &w->nodes[i];
		if (n->next >= 0)
			w->nodes[n->next].preds++;
		if (n->jump >= 0 && n->jump != n->next)
			w->nodes[n->jump].preds++;
	}
}

int flow_build(struct flow *w, const struct funcs *f, uint64_t entry, uint64_t size)
{
	*w = (struct flow){ .funcs = f, .entry = entry, .lo = entry };
	bool sized = size && size <= MAX_SPAN;
	w->hi = funcs_end(f, entry, MAX_UNSIZED);
	if (sized && size < UINT64_MAX - entry)
		w->hi = entry + size;
	int rc = explore(w, entry, (struct state){ insn_machine.entry_cfa, 0 });
	if (!rc && !w->nodes_cnt)
		doubt(w, FLOW_UNDECODED);
	if (!rc && sized)
		rc = explore_rest(w);
	else if (!rc && has_computed_jump(w))
		doubt(w, FLOW_NO_SIZE);
	if (w->nodes_cnt >= MAX_NODES)
		doubt(w, FLOW_TOO_LONG);
	if (rc) {
		flow_free(w);
		return rc;
	}
	count_preds(w);
	return 0;
}

/*
 * Compilers align heads of loops, and what is reached by jumps only, or mostly (gcc's -falign-loops, -falign-jumps). A call between which and
 * a place of the second kind there is padding mostly does not come back, whether or not its function has a name.
 */
void flow_presume_ends(struct flow *w)
{
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		struct flow_node *n = &w->nodes[i];
		bool padded = n->in.flow == INSN_CALL && n->next >= 0 && w->nodes[n->next].in.padding;
		int32_t to = padded ? behind_padding(w, n->next) : -1;
		if (to < 0 || !is_jumped_to(w, to))
			continue;
		w->nodes[n->next].preds--;
		n->no_return = true;
		n->next = -1;
	}
}

int32_t flow_before(const struct flow *w, int32_t node)
{
	int32_t i = 0;
	while (w->nodes[i].next != node && w->nodes[i].jump != node)
		i++;
	return i;
}

int32_t flow_not_null(const struct flow *w, int32_t at, int reg)
{
	const struct flow_node *n = &w->nodes[at];
	if (reg < 0 || n->in.flow != INSN_BRANCH || n->in.when == INSN_IF_OTHER)
		return -1;
	if (n->in.tests == reg)
		return n->in.when == INSN_IF_ZERO ? n->next : n->jump;
	if (n->preds != 1 || n->root)
		return -1;
	/* The test must be the preceding instruction, on the only path to this one. */
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		const struct flow_node *p = &w->nodes[i];
		if (p->next == at && p->in.flow == INSN_NEXT && p->in.tests == reg)
			return n->in.when == INSN_IF_ZERO ? n->next : n->jump;
	}
	return -1;
}

void flow_free(struct flow *w)
{
	free(w->nodes);
	map_free(&w->at);
	*w = (struct flow){ 0 };
}
