/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/counter: see counter.h. The code is that of bdwgc's misc.c, `return GC_bytes_allocd + GC_bytes_allocd_before_gc;`, both
 * in GC_arrays, which a library may reach through a pointer:
 *
 *	mov rdx, [rip + ...]
 *	mov rax, [rip + ...]	or  mov rax, [rdx + 48]
 *	add rax, [rip + ...]	    add rax, [rdx + 64]
 *	ret
 *
 * or on aarch64, which loads both words and adds registers:
 *
 *	adrp x1, ...
 *	ldr x1, [x1, 3824]
 *	ldr x0, [x1, 48]
 *	ldr x1, [x1, 64]
 *	add x0, x1, x0
 *	ret
 */
#include "code/counter.h"

#include "code/decode.h"
#include "code/funcs.h"

#define CODE_MAX 64

/* A word that a register holds: from [*through + at], or, without `through`, from the address `at`. */
struct held {
	bool known;
	uint64_t through, at;
};

/* The sum as recognized so far. */
struct sum {
	struct insn_known known;
	struct held in[INSN_REGS]; /* registers */
	struct held words[2];
	int reg; /* that holds their sum, INSN_NO_REG = none yet */
};

static struct held place_of(const struct sum *s, const struct insn_load *l)
{
	struct held h = { .known = true, .at = l->address };
	if (l->base < 0 || insn_address(&s->known, l->base, l->disp, &h.at))
		return h;
	const struct held *pointer = &s->in[l->base];
	if (!pointer->known || pointer->through)
		return (struct held){ 0 };
	return (struct held){ .known = true, .through = pointer->at, .at = (uint64_t)l->disp };
}

static bool add_up(struct sum *s, int reg, struct held a, struct held b)
{
	if (!a.known || !b.known || a.through != b.through)
		return false;
	s->words[0] = a;
	s->words[1] = b;
	s->reg = reg;
	return true;
}

/* False: not part of such a sum. */
static bool take(struct sum *s, const struct insn_load *l)
{
	if (s->reg >= 0 || l->reg < 0 || !(l->loads || l->adds || l->sums))
		return false;
	if (l->sums)
		return add_up(s, l->reg, s->in[l->of[0]], s->in[l->of[1]]);
	struct held place = place_of(s, l);
	if (l->adds)
		return add_up(s, l->reg, s->in[l->reg], place);
	s->in[l->reg] = place;
	return place.known;
}

/* False: the instruction is not part of such a sum, and does something. */
static bool follow(struct sum *s, const struct insn *in, const struct insn_load *l, const uint8_t *bytes)
{
	bool summed = s->reg >= 0, takes = take(s, l);
	bool makes_address = insn_know(&s->known, bytes, in);
	for (int i = 0; i < INSN_REGS && !takes; i++) {
		if (in->writes & INSN_BIT(i))
			s->in[i].known = false;
	}
	bool nothing = in->padding || (!in->writes && !in->stores && in->flow == INSN_NEXT);
	return nothing || takes || (makes_address && !summed);
}

static struct byte_counter found(const struct sum *s)
{
	if (s->reg != insn_machine.result)
		return (struct byte_counter){ 0 };
	return (struct byte_counter){
		.known = true,
		.through = s->words[0].through,
		.words = { s->words[0].at, s->words[1].at },
		.unit = 1,
	};
}

struct byte_counter counter_find(const struct funcs *f)
{
	const struct func *fn = funcs_named(f, "GC_get_total_bytes");
	struct sum s = { .reg = INSN_NO_REG };
	struct insn in = { 0 };
	uint64_t at = fn ? fn->vaddr : 0;
	for (; at && at < fn->vaddr + CODE_MAX; at += in.len) {
		const uint8_t *bytes = elf_bytes(f->elf, at, 1);
		size_t n = INSN_MAX_LEN;
		while (n && !elf_bytes(f->elf, at, n))
			n--;
		struct insn_load l;
		if (!bytes || !n || !insn_decode(bytes, n, at, &in))
			break;
		insn_load_of(bytes, n, at, &l);
		if (in.flow == INSN_RETURN)
			return found(&s);
		if (!follow(&s, &in, &l, bytes))
			break;
	}
	return (struct byte_counter){ 0 };
}
