/* SPDX-License-Identifier: Apache-2.0 */
/* beam/stored: see stored.h. */
#include "beam/stored.h"

#include <stdbool.h>
#include <string.h>

#include "code/decode.h"

#define SSE_REGISTERS 16

struct reading {
	struct value in[INSN_REGS];
	struct value low[SSE_REGISTERS], high[SSE_REGISTERS];
	struct stored *out;
};

static struct value difference(struct value a, struct value b)
{
	bool known = b.kind == VALUE_WORD && (a.kind == VALUE_WORD || a.kind == VALUE_UNKNOWN);
	return known ? (struct value){ VALUE_BYTES, a.a, b.a } : (struct value){ .kind = VALUE_UNKNOWN };
}

/* One of them is a word and the other is not known. */
static struct value sum(struct value a, struct value b)
{
	if (a.kind == VALUE_UNKNOWN && b.kind == VALUE_WORD)
		return (struct value){ VALUE_SUM, b.a, 0 };
	if (b.kind == VALUE_UNKNOWN && a.kind == VALUE_WORD)
		return (struct value){ VALUE_SUM, a.a, 0 };
	return (struct value){ .kind = VALUE_UNKNOWN };
}

/* What a register holds, or, without one, a place in memory. */
static struct value source_of(const struct reading *r, int8_t from, int8_t base, int32_t disp)
{
	if (from >= 0)
		return r->in[from];
	bool word = base >= 0 && r->in[base].kind == VALUE_STRUCT;
	return word ? (struct value){ VALUE_WORD, disp, 0 } : (struct value){ .kind = VALUE_UNKNOWN };
}

static struct value result_of(const struct reading *r, const struct insn_move *m)
{
	struct value had = m->left >= 0 ? r->in[m->left] : (struct value){ 0 }, source = source_of(r, m->from, m->base, m->disp);
	switch (m->does) {
	case INSN_COPIES: return source;
	case INSN_SUBTRACTS: return difference(had, source);
	case INSN_ADDS: return sum(had, source);
	default: break;
	}
	if (m->does == INSN_SHIFTS && m->bits == 3 && had.kind == VALUE_BYTES)
		return (struct value){ VALUE_WORDS, had.a, had.b };
	return (struct value){ .kind = VALUE_UNKNOWN };
}

static void note(struct reading *r, int8_t base, int64_t slot, struct value v)
{
	struct stored *s = r->out;
	if (base != insn_machine.sp || s->cnt == STORED_MAX)
		return;
	s->at[s->cnt].slot = slot;
	s->at[s->cnt++].value = v;
}

static void step_pair(struct reading *r, const struct insn_pair *p)
{
	static const struct value unknown = { .kind = VALUE_UNKNOWN };
	switch (p->does) {
	case INSN_PAIR_LOW: r->low[p->to] = source_of(r, p->from, p->base, p->disp); break;
	case INSN_PAIR_HIGH: r->high[p->to] = source_of(r, INSN_NO_REG, p->base, p->disp); return;
	case INSN_PAIR_JOINS: r->high[p->to] = r->low[p->from]; return;
	case INSN_PAIR_OTHER: r->low[p->to] = unknown; break;
	case INSN_PAIR_PUTS:
		note(r, p->base, p->disp, r->low[p->from]);
		note(r, p->base, p->disp + (int64_t)sizeof(uint64_t), r->high[p->from]);
		return;
	default: return;
	}
	r->high[p->to] = unknown;
}

static void forget_pairs(struct reading *r)
{
	memset(r->low, 0, sizeof(r->low));
	memset(r->high, 0, sizeof(r->high));
}

static void forget(struct reading *r, insn_regs registers)
{
	for (int i = 0; i < INSN_REGS; i++) {
		if (registers & INSN_BIT(i))
			r->in[i] = (struct value){ .kind = VALUE_UNKNOWN };
	}
}

static void step(struct reading *r, const struct insn *in, const struct insn_move *m, size_t n)
{
	struct value v[INSN_MOVES];
	if (in->flow == INSN_CALL)
		forget_pairs(r);
	for (size_t i = 0; i < n; i++) {
		if (m[i].does == INSN_PUTS && m[i].from >= 0)
			note(r, m[i].base, m[i].disp, r->in[m[i].from]);
		v[i] = result_of(r, &m[i]);
	}
	forget(r, in->flow == INSN_CALL ? ~insn_machine.call_keeps : in->writes);
	for (size_t i = 0; i < n; i++) {
		if (m[i].does != INSN_PUTS && m[i].to >= 0)
			r->in[m[i].to] = v[i];
	}
}

void stored_by(const uint8_t *code, size_t n, struct stored *out)
{
	struct reading r = { .out = out };
	r.in[insn_machine.args[0]].kind = VALUE_STRUCT;
	out->cnt = 0;
	for (size_t at = 0; at < n;) {
		struct insn in;
		struct insn_move m[INSN_MOVES];
		struct insn_pair p;
		if (!insn_decode(code + at, n - at, at, &in))
			return;
		size_t moves = insn_moves_of(code + at, n - at, m);
		insn_pair_of(code + at, n - at, &p);
		step(&r, &in, m, moves);
		step_pair(&r, &p);
		at += in.len;
	}
}
