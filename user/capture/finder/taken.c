/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/taken: see taken.h. Of the function in lists.c:
 *
 *	again:
 *		mov r13, [rbp]       my_entry = *my_fl
 *		cmp r13, top
 *		jbe refill           <- the place: the size and the kind are still in registers
 *		...                  r13 is what is returned
 *		ret
 *	refill:
 *		...                  jmp again, or jmp GC_malloc_kind_global
 */
#include "finder/taken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/wire_register.h"
#include "finder/held.h"

/* What can be reached without passing the place, or the jump by which calls leave that it does not serve. */
struct search {
	const struct flow *w;
	int32_t place, late;
	uint8_t *seen;
};

static bool escapes(const struct search *c, int32_t i)
{
	if (i < 0 || i == c->place || i == c->late || c->seen[i]++)
		return false;
	const struct flow_node *n = &c->w->nodes[i];
	if (values_last_resort(n))
		return false;
	return n->leave != FLOW_STAYS || escapes(c, n->next) || escapes(c, n->jump);
}

static bool escapes_from(const struct search *c, int32_t from)
{
	memset(c->seen, 0, c->w->nodes_cnt);
	return escapes(c, from);
}

static bool goes_on(const struct search *c, int32_t i)
{
	if (i < 0 || c->seen[i]++)
		return false;
	const struct flow_node *n = &c->w->nodes[i];
	return i == c->place || i == c->late || goes_on(c, n->next) || goes_on(c, n->jump);
}

/* Does a way lead from there to the place again, or to that jump? */
static bool goes_on_from(const struct search *c, int32_t from)
{
	memset(c->seen, 0, c->w->nodes_cnt);
	return goes_on(c, from);
}

/* The branch behind the only comparison with the largest count; -1: none, or several. *head: the register that was compared. */
static int32_t branch_on_head(const struct plan *p, const struct flow *w, int *head)
{
	int32_t found = -1;
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		const struct flow_node *n = &w->nodes[i];
		const uint8_t *bytes = elf_bytes(p->funcs.elf, n->in.vaddr, n->in.len);
		struct insn_constants c = { .left = INSN_NO_REG };
		if (bytes)
			insn_constants(bytes, n->in.len, n->in.vaddr, &c);
		if (!c.compares || c.imm != p->list->lists.top || c.left < 0)
			continue;
		if (found >= 0 || n->next < 0 || w->nodes[n->next].preds != 1 || w->nodes[n->next].in.flow != INSN_BRANCH)
			return -1;
		found = n->next;
		*head = c.left;
	}
	return found;
}

/* The only jump to another function; -1: none, or several. */
static int32_t jump_on(const struct flow *w)
{
	int32_t found = -1;
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		if (w->nodes[i].leave != FLOW_JUMPS_ON)
			continue;
		if (found >= 0)
			return -1;
		found = (int32_t)i;
	}
	return found;
}

/* Exactly one side of the branch returns the head, and that is all; the other takes no block. */
static bool is_place(const struct search *c, int head)
{
	const struct flow_node *n = &c->w->nodes[c->place];
	if (n->next < 0 || n->jump < 0)
		return false;
	bool next = c->w->nodes[n->next].holds & INSN_BIT(head), jump = c->w->nodes[n->jump].holds & INSN_BIT(head);
	int32_t takes = next ? n->next : n->jump, other = next ? n->jump : n->next;
	return next != jump && !goes_on_from(c, takes) && !escapes_from(c, other) && !escapes_from(c, 0);
}

static int take(struct plan *p, const struct held *h, const struct search *c, int head, struct site *s)
{
	struct site_exit x = { .reg = wire_reg(INSN_BIT(head)), .emulated = true, .takes = true };
	struct site_place late;
	if (!is_place(c, head) || !held_place(h, p, (size_t)c->place, &x.whole) || !held_place(h, p, (size_t)c->late, &late) ||
	    !elf_offset_of(p->funcs.elf, x.whole.vaddr, &x.whole.offset) ||
	    !elf_offset_of(p->funcs.elf, late.vaddr, &late.offset))
		return 0;
	x.vaddr = x.whole.vaddr;
	x.offset = x.whole.offset;
	x.cfa_off = x.whole.cfa_off;
	x.whole_call_of = (uint32_t)(s - p->list->sites) + 1;
	struct site_exit *slot = VEC_PUSH(p->list, exits);
	if (!slot)
		return -ENOMEM;
	*slot = x;
	s->late.at = late;
	return 0;
}

int taken_find(struct plan *p, struct site *s)
{
	struct body *b = plan_body(p, s->func, s->size);
	struct search c = { .w = b ? &b->flow : NULL, .seen = calloc((b ? b->flow.nodes_cnt : 0) + 1, 1) };
	struct held held = { 0 };
	int head = INSN_NO_REG, rc = b && c.seen ? held_find(c.w, s, &held) : -ENOMEM;
	if (!rc && !b->flow.unproven) {
		c.place = branch_on_head(p, c.w, &head);
		c.late = jump_on(c.w);
		if (c.place >= 0 && c.late >= 0)
			rc = take(p, &held, &c, head, s);
	}
	held_free(&held);
	free(c.seen);
	return rc;
}
