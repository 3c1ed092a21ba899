/* SPDX-License-Identifier: Apache-2.0 */
/* elf/arch of aarch64: see arch.h. Encodings from the Arm Architecture Reference Manual, C6.2. */
#include "elf/arch.h"

#include <elf.h>
#include <string.h>

#define BTI_C 0xd503245fu
#define ADRP_X16 0x90000010u /* immlo in bits 29 and 30, immhi in 5 to 23 */
#define ADRP_MASK 0x9f00001fu
#define LDR_X17_X16 0xf9400211u /* imm12 in bits 10 to 21, in words */
#define LDR_MASK 0xffc003ffu

const struct elf_arch elf_arch = {
	.machine = EM_AARCH64,
	.irelative = R_AARCH64_IRELATIVE,
	.jump_slot = R_AARCH64_JUMP_SLOT,
	.glob_dat = R_AARCH64_GLOB_DAT,
	.relative = R_AARCH64_RELATIVE,
	.whole = "not a complete ELF file for aarch64",
};

/* 0, which is no instruction of a stub, if there is none. */
static uint32_t instruction(const struct elf *e, uint64_t vaddr)
{
	uint32_t i = 0;
	const uint8_t *p = elf_bytes(e, vaddr, sizeof(i));
	if (p)
		memcpy(&i, p, sizeof(i));
	return i;
}

/* The start of the page that adrp names: 21 bits with a sign, in pages. */
static uint64_t adrp_page(uint32_t adrp, uint64_t vaddr)
{
	uint32_t pages = (adrp >> 29 & 3) | (adrp >> 3 & 0x1ffffc);
	return (vaddr & ~0xfffull) + ((uint64_t)((int64_t)((uint64_t)pages << 43) >> 43) << 12);
}

/* [bti c] adrp x16, page; ldr x17, [x16, offset] */
uint64_t elf_stub_slot(const struct elf *e, uint64_t vaddr)
{
	if (instruction(e, vaddr) == BTI_C)
		vaddr += 4;
	uint32_t adrp = instruction(e, vaddr), ldr = instruction(e, vaddr + 4);
	if ((adrp & ADRP_MASK) != ADRP_X16 || (ldr & LDR_MASK) != LDR_X17_X16)
		return 0;
	return adrp_page(adrp, vaddr) + (ldr >> 10 & 0xfff) * 8;
}
