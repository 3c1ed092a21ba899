/* SPDX-License-Identifier: Apache-2.0 */
/* beam/reading: see reading.h. */
#include "beam/reading.h"

#define CODE_MAX 8192

struct reading reading_of(const struct funcs *f, uint64_t vaddr)
{
	return (struct reading){ .f = f, .at = vaddr, .end = funcs_end(f, vaddr, CODE_MAX) };
}

/* What follows a jump or a return is reached from elsewhere. */
static void keep_known(struct reading *r)
{
	if (!r->bytes)
		return;
	if (r->in.flow == INSN_NEXT || r->in.flow == INSN_BRANCH || r->in.flow == INSN_CALL)
		insn_know(&r->known, r->bytes, &r->in);
	else
		r->known = (struct insn_known){ 0 };
}

bool reading_next(struct reading *r)
{
	keep_known(r);
	r->left = r->end > r->at ? (size_t)(r->end - r->at) : 0;
	r->left = r->left < INSN_MAX_LEN ? r->left : INSN_MAX_LEN;
	r->bytes = r->left ? elf_bytes(r->f->elf, r->at, r->left) : NULL;
	if (!r->bytes || !insn_decode(r->bytes, r->left, r->at, &r->in))
		return false;
	r->at += r->in.len;
	return true;
}

uint64_t reading_address(const struct reading *r, int8_t base, int64_t disp)
{
	if (base < 0)
		return (uint64_t)disp;
	struct insn_value from = r->known.of[base];
	if (from.origin == INSN_WORD_AT)
		from.value = elf_first_word(r->f->elf, from.value);
	return from.origin == INSN_NUMBER || from.origin == INSN_WORD_AT ? from.value + (uint64_t)disp : 0;
}

insn_regs reading_copy_of(const struct insn_move *m, insn_regs of)
{
	bool copies = m->does == INSN_COPIES && m->from >= 0 && m->to >= 0 && of & INSN_BIT(m->from);
	return copies ? INSN_BIT(m->to) : 0;
}
