/* SPDX-License-Identifier: Apache-2.0 */
/* beam/stored: see stored.h. */
#include "beam/stored.h"

#include <stdbool.h>
#include <string.h>

#include "code/decode.h"

#define REGISTERS 16

struct reading {
	struct value in[REGISTERS];
	struct stored *out;
};

static struct value difference(struct value a, struct value b)
{
	bool words = a.kind == VALUE_WORD && b.kind == VALUE_WORD;
	return words ? (struct value){ VALUE_BYTES, a.a, b.a } : (struct value){ .kind = VALUE_UNKNOWN };
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

static struct value source_of(const struct reading *r, const struct insn_move *m)
{
	if (m->from >= 0)
		return r->in[m->from];
	bool word = m->base >= 0 && r->in[m->base].kind == VALUE_STRUCT;
	return word ? (struct value){ VALUE_WORD, m->disp, 0 } : (struct value){ .kind = VALUE_UNKNOWN };
}

static struct value result_of(const struct reading *r, const struct insn_move *m)
{
	struct value had = r->in[m->to];
	switch (m->does) {
	case INSN_COPIES: return source_of(r, m);
	case INSN_SUBTRACTS: return difference(had, source_of(r, m));
	case INSN_ADDS: return sum(had, source_of(r, m));
	default: break;
	}
	if (m->does == INSN_SHIFTS && m->bits == 3 && had.kind == VALUE_BYTES)
		return (struct value){ VALUE_WORDS, had.a, had.b };
	return (struct value){ .kind = VALUE_UNKNOWN };
}

static void note(struct reading *r, const struct insn_move *m)
{
	struct stored *s = r->out;
	if (m->base != INSN_RSP || m->from < 0 || s->cnt == STORED_MAX)
		return;
	s->at[s->cnt].slot = m->disp;
	s->at[s->cnt++].value = r->in[m->from];
}

static void forget(struct reading *r, uint16_t registers)
{
	for (int i = 0; i < REGISTERS; i++) {
		if (registers & INSN_BIT(i))
			r->in[i] = (struct value){ .kind = VALUE_UNKNOWN };
	}
}

static void step(struct reading *r, const struct insn *in, const struct insn_move *m)
{
	if (m->does == INSN_PUTS) {
		note(r, m);
		return;
	}
	bool follows = m->does && m->to >= 0;
	struct value v = follows ? result_of(r, m) : (struct value){ .kind = VALUE_UNKNOWN };
	forget(r, in->flow == INSN_CALL ? (uint16_t)~INSN_CALL_KEEPS : in->writes);
	if (follows)
		r->in[m->to] = v;
}

void stored_by(const uint8_t *code, size_t n, struct stored *out)
{
	struct reading r = { .out = out };
	r.in[INSN_RDI].kind = VALUE_STRUCT;
	out->cnt = 0;
	for (size_t at = 0; at < n;) {
		struct insn in;
		struct insn_move m;
		if (!insn_decode(code + at, n - at, at, &in))
			return;
		insn_move_of(code + at, n - at, &m);
		step(&r, &in, &m);
		at += in.len;
	}
}
