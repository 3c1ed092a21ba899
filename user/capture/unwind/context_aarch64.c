/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/context of aarch64: see bottom.h. */
#include <string.h>

#include "unwind/bottom.h"

#define CONTEXT_MAX 128        /* bytes of glibc's __startcontext, with room for branch targets */
#define PLT_PUSHES 0xa9bf7bf0u /* stp x16, x30, [sp, -16]! */
#define PLT_FIRST_SZ 32
#define SIGNAL_RETURN_WITHIN (64u << 10) /* code of a vdso */

bool bottom_is_context(const struct bottom *b, uint64_t lo, uint64_t hi)
{
	/* mov x0, x19; cbnz x0, setcontext: the next context is in a register that the function kept. */
	static const uint8_t code[] = { 0xe0, 0x03, 0x13, 0xaa };
	if (!b->contexts || hi - lo > CONTEXT_MAX)
		return false;
	const uint8_t *p = elf_bytes(b->e, lo, hi - lo);
	const uint8_t *found = p ? memmem(p, hi - lo, code, sizeof(code)) : NULL;
	return found && found + 8 <= p + (hi - lo) && (found[4] & 0x1f) == 0 && found[7] == 0xb5;
}

/* mov x8, rt_sigreturn; svc 0. Not searched for as bytes, which this program's own data would then have. */
static bool is_signal_return(const uint8_t *p)
{
	uint32_t code[2];
	memcpy(code, p, sizeof(code));
	return code[0] == 0xd2801168 && code[1] == 0xd4000001;
}

/* In the vdso, from Linux 5.8 on without unwind information (commit 87676cfca141); and in small programs with musl. */
uint64_t bottom_signal_return(const struct elf *e)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg);
	for (size_t i = 0; i < n; i++) {
		bool small = seg[i].exec && seg[i].filesz <= SIGNAL_RETURN_WITHIN;
		const uint8_t *p = small ? elf_bytes(e, seg[i].vaddr, seg[i].filesz) : NULL;
		for (uint64_t at = -seg[i].vaddr & 3; p && at + 8 <= seg[i].filesz; at += 4) {
			if (is_signal_return(p + at))
				return seg[i].vaddr + at;
		}
	}
	return 0;
}

/*
 * Stubs use x16 and x17 only. The first entry, which they come to where functions are looked up at their first call, is not in
 * programs that are static.
 */
struct bottom_plt bottom_plt(const struct elf *e)
{
	size_t size;
	uint64_t lo;
	const uint8_t *p = elf_section(e, ".plt", &size, &lo);
	if (!p || size < PLT_FIRST_SZ)
		return (struct bottom_plt){ 0 };
	struct bottom_plt plt = { lo, lo, lo, lo + size };
	for (size_t at = 0; at <= 4; at += 4) { /* a branch target may come first */
		uint32_t insn;
		memcpy(&insn, p + at, sizeof(insn));
		if (insn == PLT_PUSHES)
			plt.pushed = lo + at + 4, plt.stubs = lo + PLT_FIRST_SZ;
	}
	return plt;
}
