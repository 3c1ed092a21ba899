/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/counter: see counter.h. The code is that of bdwgc's misc.c, `return GC_bytes_allocd + GC_bytes_allocd_before_gc;`, both
 * in GC_arrays, which a library may reach through a pointer:
 *
 *	mov rdx, [rip + ...]
 *	mov rax, [rip + ...]	or  mov rax, [rdx + 48]
 *	add rax, [rip + ...]	    add rax, [rdx + 64]
 *	ret
 */
#include "code/counter.h"

#include "code/decode.h"
#include "code/funcs.h"

#define CODE_MAX 64

/* The sum as recognized so far. */
struct sum {
	struct byte_counter found;
	int pointer, result; /* registers, INSN_NO_REG = none yet */
	int words;
};

static bool add_word(struct sum *s, const struct insn_load *l)
{
	bool through = l->base >= 0;
	if (s->words == 2 || (through && l->base != s->pointer) || (s->pointer >= 0 && !through))
		return false;
	s->found.words[s->words++] = through ? (uint64_t)l->disp : l->address;
	return true;
}

static bool take(struct sum *s, const struct insn_load *l)
{
	if (l->adds)
		return l->reg == s->result && add_word(s, l);
	if (!l->loads || s->words)
		return false;
	/* The first load was of the pointer if the second one goes through it. */
	if (l->base >= 0 && s->result == l->base && !s->found.through) {
		s->pointer = s->result;
		s->found.through = s->found.words[0];
		s->result = l->reg;
		return add_word(s, l);
	}
	if (l->base >= 0 || s->result >= 0)
		return false;
	s->result = l->reg;
	s->found.words[0] = l->address;
	return true;
}

struct byte_counter counter_find(const struct funcs *f)
{
	const struct func *fn = funcs_named(f, "GC_get_total_bytes");
	struct sum s = { .pointer = INSN_NO_REG, .result = INSN_NO_REG };
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
		if (in.flow == INSN_RETURN) {
			s.found.known = s.words == 2 && s.result == insn_machine.result;
			break;
		}
		bool nothing = !l.loads && !l.adds && !in.writes && !in.stores && in.flow == INSN_NEXT;
		if (in.padding || nothing)
			continue;
		/* Without a pointer, the first load was the first word. */
		if (l.adds && !s.words && s.pointer < 0 && s.result >= 0)
			s.words = 1;
		if (!take(&s, &l))
			break;
	}
	s.found.unit = 1;
	return s.found.known ? s.found : (struct byte_counter){ 0 };
}
