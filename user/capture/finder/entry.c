/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/entry: walks straight from a function's first instruction to the first one that the kernel emulates. Every call
 * passes it, because only this path leads there. In a free, the walk continues after the test for NULL, so that
 * free(NULL) costs nothing. Where no return probe needs the return address on top of the stack, a branch further on is better
 * than a push: to emulate that, the kernel writes to the program's stack.
 */
#include "finder/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "finder/saved_fp.h"

#define MAX_STEPS 64

#define MAX_ARGS 4

/* Registers that hold what the site has to tell: each argument, or, in its place, the product of a count and a size. */
struct held {
	insn_regs args[MAX_ARGS];
	insn_regs product;
	bool high; /* the product's high half was computed, too: an overflow is noticed, and the call fails */
	bool kept; /* the return address is where the caller put it, unchanged */
};

struct walk {
	struct plan *plan;
	const struct flow *w;
	int null_reg; /* the freed argument's register, or INSN_NO_REG */
	size_t args_cnt;
	bool multiplied; /* the arguments are a count and a size */
	struct held here, at_best;
	int32_t best;  /* emulated, -1 = none yet */
	bool may_pass; /* pushes: the site need not be the first one */
	bool past_push;
	int32_t plain; /* first one that can be probed at all, arguments untouched */
	bool past_null;
	const int32_t *fp; /* where the caller's frame pointer is, see saved_fp.h */
	int32_t record;    /* CFA - the place where frame pointer and return address were stored, 0 = they were not */
	bool set_up;       /* the frame pointer points there */
	enum entry_stop stop;
};

/* An argument beyond those of its shape. */
static bool has_kind(const struct allocator *row)
{
	return row->typed || row->flags & ALYS_SITE_GC_KIND;
}

static void set_arguments(struct walk *k, const struct allocator *row)
{
	static const uint8_t counts[] = {
		[ALYS_SHAPE_SIZE] = 1, [ALYS_SHAPE_MUL] = 2,        [ALYS_SHAPE_REALLOC] = 2, [ALYS_SHAPE_OUTPTR] = 2,
		[ALYS_SHAPE_FREE] = 1, [ALYS_SHAPE_MULREALLOC] = 3, [ALYS_SHAPE_BATCH] = 2,   [ALYS_SHAPE_HEAPFUL] = 2,
	};
	for (unsigned int i = 0; i < counts[row->shape]; i++)
		k->here.args[k->args_cnt++] = INSN_BIT(plan_arg_reg(row->arg[i]));
	if (has_kind(row))
		k->here.args[k->args_cnt++] = INSN_BIT(plan_arg_reg(row->kind_arg));
	k->multiplied = row->shape == ALYS_SHAPE_MUL && k->args_cnt == 2;
}

static insn_regs regs_at(unsigned int position)
{
	if (position < INSN_ARGS)
		return INSN_BIT(plan_arg_reg(position));
	return position == ALYS_REG_LIST || position == ALYS_REG_SP ? 0 : INSN_BIT(position);
}

/* The argument position whose register holds it, preferably its own; insn_machine.readable = none. */
static unsigned int position_of(insn_regs regs, unsigned int own)
{
	if (regs & regs_at(own))
		return own;
	unsigned int n = 0;
	while (n < insn_machine.readable && !(regs & regs_at(n)))
		n++;
	return n;
}

static bool is_readable(insn_regs regs)
{
	return position_of(regs, 0) < insn_machine.readable;
}

static bool are_readable(const struct walk *k, const struct held *h)
{
	bool all = true;
	for (size_t i = 0; i < k->args_cnt; i++)
		all &= is_readable(h->args[i]);
	return all;
}

static bool is_product(const struct walk *k, const struct insn *in)
{
	const insn_regs *args = k->here.args, f = in->factors;
	return k->multiplied && f & args[0] && f & args[1] && !(f & ~(args[0] | args[1]));
}

static void pass(insn_regs *regs, const struct insn *in)
{
	bool copied = in->copy_to >= 0 && (*regs & INSN_BIT(in->copy_from));
	*regs = (*regs & ~in->writes) | (copied ? INSN_BIT(in->copy_to) : 0);
}

static void follow(struct walk *k, const struct insn *in)
{
	struct held *h = &k->here;
	bool product = is_product(k, in);
	h->kept &= !in->signs;
	for (size_t i = 0; i < k->args_cnt; i++)
		pass(&h->args[i], in);
	pass(&h->product, in);
	h->high |= product && in->high_half;
	if (product && !in->high_half)
		h->product |= in->writes;
}

static bool writes_link(const struct insn *in)
{
	return insn_machine.link >= 0 && in->writes & INSN_BIT(insn_machine.link);
}

/*
 * A walk from the probe takes the frame pointer for the caller's, unless that was saved before, or it points to the function's own record (on aarch64,
 * ../../../bpf/aarch64/frame.bpf.h); and the link register has the return address. False: not behind this instruction.
 */
static bool follow_frame(struct walk *k, const struct flow_node *n)
{
	if (writes_link(&n->in))
		return false;
	if (n->in.records && !k->set_up)
		k->record = n->cfa - n->in.record_delta;
	if (n->in.frame == INSN_BP_KEPT ||
	    (insn_machine.link < 0 && !k->plan->options->at_entry && n->next >= 0 && k->fp[n->next] > 0))
		return true;
	bool own = n->in.frame == INSN_BP_FROM_SP && k->record && n->cfa - n->in.bp_delta == k->record;
	bool first = !k->set_up;
	k->set_up = true;
	return own && first;
}

static bool is_push(const struct flow_node *n)
{
	return n->in.flow == INSN_NEXT && n->in.stack == INSN_SP_ADD;
}

/* Behind the test for NULL anything is; else what the kernel emulates without a write to the stack. */
static bool is_better(const struct walk *k, const struct flow_node *n)
{
	const struct flow_node *best = k->best >= 0 ? &k->w->nodes[k->best] : NULL;
	return !best || !is_push(best) || n->in.flow == INSN_BRANCH || n->in.flow == INSN_JUMP;
}

static void take(struct walk *k, int32_t i)
{
	bool push = k->best >= 0 && is_push(&k->w->nodes[k->best]);
	k->past_push |= push;
	k->past_null |= k->best >= 0 && !push;
	k->best = i;
	k->at_best = k->here;
}

/* Where the walk goes after node i; -1 with a reason when it ends. */
static int32_t step(struct walk *k, int32_t i)
{
	const struct flow_node *n = &k->w->nodes[i];
	bool probable = flow_cfa_known(n) && plan_cfa_ok(k->plan, n);

	if (i && (n->preds != 1 || n->root)) {
		k->stop = STOP_JOINED;
		return -1;
	}
	if (!probable) {
		k->stop = STOP_FRAME;
		return -1;
	}
	if (!are_readable(k, &k->here) && !(k->here.high && is_readable(k->here.product))) {
		k->stop = STOP_ARGUMENT;
		return -1;
	}
	if (k->plain < 0 && n->in.cost != INSN_REFUSED) {
		k->plain = i;
		k->at_best = k->here;
	}
	if (n->in.cost == INSN_EMULATED && is_better(k, n))
		take(k, i);
	if (n->in.cost == INSN_EMULATED && !(is_push(n) && k->may_pass))
		return flow_not_null(k->w, i, k->null_reg);
	/* As long as it stores nothing it holds no lock. */
	if (n->in.flow != INSN_NEXT || (k->best >= 0 && n->in.stores)) {
		k->stop = STOP_LEFT;
		return -1;
	}
	if (!follow_frame(k, n)) {
		k->stop = STOP_SET_UP;
		return -1;
	}
	/* The exception of a probe behind it would undo it, again and again. */
	if (n->in.reserves) {
		k->stop = STOP_RESERVED;
		return -1;
	}
	follow(k, &n->in);
	return n->next;
}

static void place_arguments(const struct walk *k, struct site *s)
{
	memcpy(s->arg, s->row->arg, sizeof(s->arg));
	s->kind_arg = s->row->kind_arg;
	s->multiplied = !are_readable(k, &k->at_best);
	if (s->multiplied)
		s->arg[0] = (uint8_t)position_of(k->at_best.product, s->arg[0]);
	for (size_t i = 0; i < k->args_cnt && !s->multiplied; i++) {
		bool is_kind = has_kind(s->row) && i + 1 == k->args_cnt;
		uint8_t *arg = is_kind ? &s->kind_arg : &s->arg[i];
		*arg = (uint8_t)position_of(k->at_best.args[i], *arg);
	}
}

static enum entry_choice choice_of(const struct walk *k)
{
	if (k->past_null)
		return ENTRY_PAST_NULL;
	return k->past_push ? ENTRY_BRANCH : ENTRY_EMULATED;
}

/* Where the caller's frame pointer was saved, stacks begin as if the probe were at the entry. */
static void place_stack(const struct walk *k, int32_t at, struct site *s)
{
	uint64_t into = s->vaddr - s->func;
	if (insn_machine.link >= 0 || k->plan->options->at_entry || k->fp[at] <= 0 || k->fp[at] > UINT16_MAX || into > UINT16_MAX)
		return;
	s->into = (uint16_t)into;
	s->fp_off = (uint16_t)k->fp[at];
}

static void choose(struct plan *p, const struct flow *w, const int32_t *fp, bool at_entry, struct site *s)
{
	struct walk k = { .plan = p,
			  .w = w,
			  .fp = fp,
			  .null_reg = INSN_NO_REG,
			  .here.kept = true,
			  .best = -1,
			  .plain = -1,
			  .stop = STOP_UNDECODED };
	k.may_pass = !at_entry;
	set_arguments(&k, s->row);
	k.at_best = k.here;
	if (s->row->shape == ALYS_SHAPE_FREE)
		k.null_reg = plan_arg_reg(s->row->arg[0]);
	int32_t i = w->nodes_cnt ? 0 : -1;
	for (int n = 0; i >= 0 && n < MAX_STEPS; n++)
		i = step(&k, i);
	int32_t at = k.best >= 0 ? k.best : k.plain;
	if (at < 0) {
		s->state = SITE_REFUSED;
		s->why = (struct entry_reason){ .choice = ENTRY_NONE, .stop = k.stop };
		return;
	}
	s->vaddr = w->nodes[at].in.vaddr;
	s->cfa_off = (uint32_t)w->nodes[at].cfa;
	s->emulated = k.best >= 0;
	s->unchanged = k.at_best.kept && flow_at_entry_sp(&w->nodes[at]);
	place_arguments(&k, s);
	place_stack(&k, at, s);
	s->why = s->emulated ? (struct entry_reason){ .choice = choice_of(&k) }
			     : (struct entry_reason){ .choice = ENTRY_STEPPED, .stop = k.stop };
}

int entry_choose(struct plan *p, const struct flow *w, struct site *s, bool at_entry)
{
	int32_t *fp = saved_fp(w);
	if (!fp)
		return -ENOMEM;
	choose(p, w, fp, at_entry, s);
	free(fp);
	return 0;
}
