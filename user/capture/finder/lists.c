/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/lists: see lists.h. The code is that of bdwgc's thread_local_alloc.c, GC_malloc_kind, and
 * gc_inline.h, GC_FAST_MALLOC_GRANS, whatever a compiler made of it:
 *
 *	if (kind < KINDS && (tsd = thread local) != NULL && granules < PER_KIND) {
 *		my_fl = &tsd->_freelists[kind][granules];
 *		for (;;) {
 *			my_entry = *my_fl;
 *			if (my_entry > DIRECT + PER_KIND + 1) return my_entry;   -- predicted
 *			if (my_entry in 1..DIRECT) { count up; break; }
 *			GC_generic_malloc_many(bytes, kind, my_fl);              -- refill
 *		}
 *	}
 *	return GC_malloc_kind_global(bytes, kind);
 */
#include "finder/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "finder/saved_fp.h"
#include "code/wire_register.h"

#define DIRECT 256 /* DIRECT_GRANULES: HBLKSIZE / GC_GRANULE_BYTES */
#define GRANULE 16
#define MAX_KINDS 16
#define AFTER_CALL 6  /* instructions between the refill and the branch on its result */
#define BEFORE_CALL 8 /* and between the refill's arguments and its call */

/* Constants of one function, as found. */
struct found {
	uint32_t kinds, per_kind, top;
	bool direct, tls;
	struct alys_lists lists;
};

/* A single comparison says little; all four together identify the function above. */
static void note_comparison(struct found *f, uint64_t imm)
{
	if (!f->kinds && imm < MAX_KINDS)
		f->kinds = (uint32_t)imm + 1;
	else if (imm == DIRECT)
		f->direct = true;
	else if (!f->per_kind && (imm + 1) % GRANULE == 0 && imm / GRANULE >= 4 && imm / GRANULE < DIRECT)
		f->per_kind = (uint32_t)((imm + 1) / GRANULE);
	else if (!f->top && imm > DIRECT && imm < 2 * DIRECT)
		f->top = (uint32_t)imm;
}

static void note_instruction(struct plan *p, const struct flow *w, size_t i, const struct insn_known *known, struct found *f)
{
	const struct flow_node *n = &w->nodes[i];
	const uint8_t *bytes = elf_bytes(p->funcs.elf, n->in.vaddr, n->in.len);
	struct insn_constants c;
	struct insn_tls t;
	if (!bytes)
		return;
	insn_constants(bytes, n->in.len, n->in.vaddr, &c);
	insn_tls_of(bytes, n->in.len, &known[i], &t);
	if (c.compares)
		note_comparison(f, c.imm);
	/* The first word of the thread's own is the pointer to its lists. */
	if (t.loads && !f->tls) {
		f->tls = true;
		f->lists.tls_offset = t.offset;
		f->lists.tls_index_vaddr = t.descriptor;
	}
	if (c.takes_address && !f->tls && n->next >= 0 && w->nodes[n->next].to &&
	    !strcmp(w->nodes[n->next].to, "__tls_get_addr")) {
		f->tls = true;
		f->lists.tls_index_vaddr = c.address;
	}
}

static bool is_refill(const struct flow_node *n)
{
	return n->in.flow == INSN_CALL && n->to && !strcmp(n->to, "GC_generic_malloc_many");
}

/* The call that fills the list, as a node; -1 = there is none. */
static int32_t refill_call(const struct flow *w)
{
	for (size_t i = 0; i < w->nodes_cnt; i++) {
		if (is_refill(&w->nodes[i]))
			return (int32_t)i;
	}
	return -1;
}

/* Where the refill is seen. */
struct refill {
	const struct flow_node *exit; /* the first cheap instruction: the list's head is still the result */
	insn_regs list;               /* registers that hold the list's address there */
};

static struct refill behind_refill(struct plan *p, const struct flow *w, int32_t call, insn_regs list)
{
	const struct flow_node *n = &w->nodes[call];
	list &= insn_machine.call_keeps;
	for (int steps = 0; steps < AFTER_CALL && n->next >= 0 && !n->in.stores; steps++) {
		n = &w->nodes[n->next];
		/* Calls without a refill pass here, too. */
		if (n->preds != 1 || n->root)
			break;
		if (n->in.cost == INSN_EMULATED && n->in.flow != INSN_CALL)
			return (struct refill){ flow_cfa_known(n) && plan_cfa_ok(p, n) && plan_return_known(w, n) ? n : NULL,
						list };
		list &= ~n->in.writes;
	}
	return (struct refill){ 0 };
}

/*
 * Registers that hold the refill's last argument, &list: its own, and the one that it was copied from, if unchanged until
 * the call.
 */
static insn_regs list_registers(const struct flow *w, int32_t call)
{
	const int own = plan_arg_reg(2);
	insn_regs list = INSN_BIT(own), changed = 0;
	int32_t i = call;
	for (int steps = 0; steps < BEFORE_CALL && w->nodes[i].preds == 1 && !w->nodes[i].root; steps++) {
		i = flow_before(w, i);
		const struct insn *in = &w->nodes[i].in;
		if (in->copy_to == own)
			return list | (INSN_BIT(in->copy_from) & ~changed);
		if (in->writes & INSN_BIT(own))
			break;
		changed |= in->writes;
	}
	return 0;
}

static struct refill find_refill(struct plan *p, const struct flow *w)
{
	int32_t call = refill_call(w);
	return call < 0 ? (struct refill){ 0 } : behind_refill(p, w, call, list_registers(w, call));
}

static int add_exit_of(struct site *s, bool slow, uint32_t exit)
{
	uint32_t *slot = slow ? VEC_PUSH(s, slow_exits) : VEC_PUSH(s, exits);
	if (slot)
		*slot = exit;
	return slot ? 0 : -ENOMEM;
}

static int add_refill_exit(struct plan *p, struct site *s, const struct refill *refill)
{
	const struct flow_node *n = refill->exit;
	struct site_exit x = { .vaddr = n->in.vaddr,
			       .cfa_off = (uint32_t)n->cfa,
			       .reg = ALYS_REG_LIST + (refill->list ? wire_reg(refill->list) : 0),
			       .emulated = true,
			       .why = { .choice = EXIT_REFILLED } };
	struct site_exit *slot = elf_offset_of(p->funcs.elf, x.vaddr, &x.offset) ? VEC_PUSH(p->list, exits) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = x;
	return add_exit_of(s, true, (uint32_t)p->list->exits_cnt - 1);
}

/* 1; 0: this is not that function; -ENOMEM. */
static int read_lists(struct plan *p, const struct body *b, struct alys_lists *out, struct refill *refill)
{
	struct found f = { 0 };
	struct insn_known *known = values_known(&b->flow);
	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < b->flow.nodes_cnt; i++)
		note_instruction(p, &b->flow, i, known, &f);
	free(known);
	*refill = find_refill(p, &b->flow);
	if (!f.kinds || !f.per_kind || !f.direct || !f.tls || f.top != DIRECT + f.per_kind + 1 || !refill->exit ||
	    !p->funcs.gc_extra_vaddr || b->flow.unproven)
		return 0;
	f.lists.extra_vaddr = p->funcs.gc_extra_vaddr;
	f.lists.kinds = f.kinds;
	f.lists.per_kind = f.per_kind;
	f.lists.counting = DIRECT;
	f.lists.top = f.top;
	*out = f.lists;
	return 1;
}

int lists_find(struct plan *p, struct site *s)
{
	struct body *b = plan_body(p, s->func, s->size);
	if (!b)
		return -ENOMEM;
	struct refill refill;
	int rc = read_lists(p, b, &p->list->lists, &refill);
	/* The lists of a thread with an unknown pointer become known by a refill. */
	if (rc <= 0 || !(refill.list || insn_machine.thread_known))
		return rc < 0 ? rc : 0;
	s->predicted = true;
	/* Within the function itself, results come from the lists; all other exits are slow ones. */
	rc = add_refill_exit(p, s, &refill);
	for (size_t i = 0; i < s->exits_cnt && !rc; i++) {
		uint64_t at = p->list->exits[s->exits[i]].vaddr;
		if (at < b->flow.lo || at >= b->flow.hi)
			rc = add_exit_of(s, true, s->exits[i]);
	}
	return rc;
}

/* The body of GC_malloc_kind, which takes from the lists; NULL where there is none. */
static int taker_body(struct plan *p, struct body **out)
{
	const struct func *fn = funcs_named(&p->funcs, "GC_malloc_kind");
	*out = fn ? plan_body(p, fn->vaddr, fn->size) : NULL;
	return fn && !*out ? -ENOMEM : 0;
}

int lists_can_refill(struct plan *p, bool *can)
{
	struct body *b;
	struct alys_lists lists;
	struct refill refill;
	int rc = taker_body(p, &b);
	bool may = b && funcs_named(&p->funcs, "GC_generic_malloc_many") && funcs_named(&p->funcs, "GC_malloc_kind_global");
	int found = may ? read_lists(p, b, &lists, &refill) : rc;
	*can = found > 0 && refill.list;
	return found < 0 ? found : 0;
}

/* Stacks begin as if the call were seen at the entry, if the caller's frame pointer is known here. */
static int begin_at_entry(const struct body *b, struct site *s)
{
	int32_t *fp = saved_fp(&b->flow), node = flow_find(&b->flow, s->vaddr);
	uint64_t into = s->vaddr - b->flow.entry;
	if (!fp)
		return -ENOMEM;
	if (insn_machine.link < 0 && node >= 0 && fp[node] >= 0 && fp[node] <= UINT16_MAX && into <= UINT16_MAX) {
		s->fp_off = (uint16_t)fp[node];
		s->into = (uint16_t)into;
	}
	free(fp);
	return 0;
}

int lists_refill(struct plan *p, struct site *s)
{
	struct body *b;
	struct refill refill;
	int rc = taker_body(p, &b);
	if (b)
		rc = read_lists(p, b, &p->list->lists, &refill);
	if (rc <= 0)
		return rc;
	s->vaddr = refill.exit->in.vaddr;
	s->cfa_off = (uint32_t)refill.exit->cfa;
	s->emulated = true;
	s->reg = wire_reg(refill.list);
	s->why = (struct entry_reason){ .choice = ENTRY_REFILLED };
	return begin_at_entry(b, s);
}
