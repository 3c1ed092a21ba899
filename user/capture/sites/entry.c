/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/entry: walks straight from a function's first instruction to the first one that the kernel emulates. Every call
 * passes it, because only this path leads there. In a free, the walk continues after the test for NULL, so that
 * free(NULL) costs nothing. Where no return probe needs the return address on top of the stack, a branch further on is better
 * than a push: to emulate that, the kernel writes to the program's stack.
 */
#include "sites/entry.h"

#include <string.h>

#define MAX_STEPS 64

#define MAX_ARGS 4
#define READABLE 5 /* BPF reads the registers of the first five arguments */

struct walk {
	struct plan *plan;
	const struct flow *w;
	int null_reg; /* the freed argument's register, or INSN_NO_REG */
	size_t args_cnt;
	insn_regs args[MAX_ARGS];      /* registers that hold each argument here */
	insn_regs best_args[MAX_ARGS]; /* and at the best place */
	int32_t best;                  /* emulated, -1 = none yet */
	bool may_pass;                 /* pushes: the site need not be the first one */
	bool past_push;
	int32_t plain; /* first one that can be probed at all, arguments untouched */
	bool past_null;
	bool kept, best_kept; /* the return address is where the caller put it, unchanged: here, at the best place */
	int32_t record;       /* CFA - the place where frame pointer and return address were stored, 0 = they were not */
	bool set_up;          /* the frame pointer points there */
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
		[ALYS_SHAPE_FREE] = 1, [ALYS_SHAPE_MULREALLOC] = 3, [ALYS_SHAPE_BATCH] = 2,   [ALYS_SHAPE_HEAPFUL] = 1,
	};
	for (unsigned int i = 0; i < counts[row->shape]; i++)
		k->args[k->args_cnt++] = INSN_BIT(plan_arg_reg(row->arg[i]));
	if (has_kind(row))
		k->args[k->args_cnt++] = INSN_BIT(plan_arg_reg(row->kind_arg));
}

/* The argument position whose register holds it, preferably its own; READABLE = none. */
static unsigned int position_of(insn_regs regs, unsigned int own)
{
	if (regs & INSN_BIT(plan_arg_reg(own)))
		return own;
	unsigned int n = 0;
	while (n < READABLE && !(regs & INSN_BIT(plan_arg_reg(n))))
		n++;
	return n;
}

static bool are_readable(const struct walk *k)
{
	bool all = true;
	for (size_t i = 0; i < k->args_cnt; i++)
		all &= position_of(k->args[i], 0) < READABLE;
	return all;
}

static void follow(struct walk *k, const struct insn *in)
{
	k->kept &= !in->signs;
	for (size_t i = 0; i < k->args_cnt; i++) {
		bool copied = in->copy_to >= 0 && (k->args[i] & INSN_BIT(in->copy_from));
		k->args[i] &= ~in->writes;
		if (copied)
			k->args[i] |= INSN_BIT(in->copy_to);
	}
}

static bool writes_link(const struct insn *in)
{
	return insn_machine.link >= 0 && in->writes & INSN_BIT(insn_machine.link);
}

/*
 * A walk from the probe takes the frame pointer for the caller's, unless it points to the function's own record (on aarch64,
 * ../../../bpf/aarch64/frame.bpf.h); and the link register has the return address. False: not behind this instruction.
 */
static bool follow_frame(struct walk *k, const struct flow_node *n)
{
	if (writes_link(&n->in))
		return false;
	if (n->in.records && !k->set_up)
		k->record = n->cfa - n->in.record_delta;
	if (n->in.frame == INSN_BP_KEPT)
		return true;
	bool own = n->in.frame == INSN_BP_FROM_SP && k->record && n->cfa - n->in.bp_delta == k->record;
	bool first = !k->set_up;
	k->set_up = true;
	return own && first;
}

static void note_best(struct walk *k)
{
	memcpy(k->best_args, k->args, sizeof(k->args));
	k->best_kept = k->kept;
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
	note_best(k);
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
	if (!are_readable(k)) {
		k->stop = STOP_ARGUMENT;
		return -1;
	}
	if (k->plain < 0 && n->in.cost != INSN_REFUSED) {
		k->plain = i;
		note_best(k);
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
	for (size_t i = 0; i < k->args_cnt; i++) {
		bool is_kind = has_kind(s->row) && i + 1 == k->args_cnt;
		uint8_t *arg = is_kind ? &s->kind_arg : &s->arg[i];
		*arg = (uint8_t)position_of(k->best_args[i], *arg);
	}
}

static enum entry_choice choice_of(const struct walk *k)
{
	if (k->past_null)
		return ENTRY_PAST_NULL;
	return k->past_push ? ENTRY_BRANCH : ENTRY_EMULATED;
}

void entry_choose(struct plan *p, const struct flow *w, struct site *s, bool at_entry)
{
	struct walk k = {
		.plan = p, .w = w, .null_reg = INSN_NO_REG, .best = -1, .plain = -1, .kept = true, .stop = STOP_UNDECODED
	};
	k.may_pass = !at_entry;
	set_arguments(&k, s->row);
	memcpy(k.best_args, k.args, sizeof(k.args));
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
	s->unchanged = k.best_kept && flow_at_entry_sp(&w->nodes[at]);
	place_arguments(&k, s);
	s->why = s->emulated ? (struct entry_reason){ .choice = choice_of(&k) }
			     : (struct entry_reason){ .choice = ENTRY_STEPPED, .stop = k.stop };
}
