/* SPDX-License-Identifier: Apache-2.0 */
/* elf/arch of x86-64: see arch.h. */
#include "elf/arch.h"

#include <elf.h>
#include <string.h>

const struct elf_arch elf_arch = {
	.machine = EM_X86_64,
	.irelative = R_X86_64_IRELATIVE,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	.relative = R_X86_64_RELATIVE,
	.whole = "not a complete ELF file for x86-64",
};

/* [endbr64] [bnd] jmp or call *disp32(%rip) */
uint64_t elf_stub_slot(const struct elf *e, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa }, jmp[] = { 0xff, 0x25 }, call[] = { 0xff, 0x15 };
	const uint8_t *p = elf_bytes(e, vaddr, 4);
	int32_t disp;
	if (p && !memcmp(p, endbr64, 4))
		vaddr += 4;
	p = elf_bytes(e, vaddr, 1);
	if (p && *p == 0xf2)
		vaddr++;
	p = elf_bytes(e, vaddr, 6);
	if (!p || (memcmp(p, jmp, 2) && memcmp(p, call, 2)))
		return 0;
	memcpy(&disp, p + 2, sizeof(disp));
	return vaddr + 6 + (uint64_t)(int64_t)disp;
}
