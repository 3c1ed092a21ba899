/* SPDX-License-Identifier: Apache-2.0 */
/* beam/reading: see reading.h. */
#include "beam/reading.h"

#define CODE_MAX 8192

struct reading reading_of(const struct funcs *f, uint64_t vaddr)
{
	return (struct reading){ .f = f, .at = vaddr, .end = funcs_end(f, vaddr, CODE_MAX) };
}

bool reading_next(struct reading *r)
{
	r->left = r->end > r->at ? (size_t)(r->end - r->at) : 0;
	r->left = r->left < INSN_MAX_LEN ? r->left : INSN_MAX_LEN;
	r->bytes = r->left ? elf_bytes(r->f->elf, r->at, r->left) : NULL;
	if (!r->bytes || !insn_decode(r->bytes, r->left, r->at, &r->in))
		return false;
	r->at += r->in.len;
	return true;
}
