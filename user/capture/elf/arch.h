/* SPDX-License-Identifier: Apache-2.0 */
/* elf/arch: the ELF files of the architecture that this program is built for. */
#ifndef ALYS_ELF_ARCH_H
#define ALYS_ELF_ARCH_H

#include <stdint.h>

#include "elf/elf.h"

struct elf_arch {
	uint16_t machine;                                  /* EM_* */
	uint32_t irelative, jump_slot, glob_dat, relative; /* types of relocations */
	const char *whole;                                 /* what is said of any other file */
};

extern const struct elf_arch elf_arch;

/* The address of the GOT slot that a stub of the PLT at vaddr jumps through; 0: there is no such stub. */
uint64_t elf_stub_slot(const struct elf *e, uint64_t vaddr);

#endif
