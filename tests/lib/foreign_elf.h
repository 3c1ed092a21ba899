/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind rows of any machine's file: elf_open refuses those of other machines. */
#ifndef ALYS_TESTS_FOREIGN_ELF_H
#define ALYS_TESTS_FOREIGN_ELF_H

#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/unwind.h"

static void foreign_text(Elf *elf, struct unwind_section *s)
{
	size_t segments;
	GElf_Phdr segment;
	if (elf_getphdrnum(elf, &segments))
		abort();
	s->text_lo = UINT64_MAX;
	for (size_t i = 0; i < segments; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		s->text_lo = segment.p_vaddr < s->text_lo ? segment.p_vaddr : s->text_lo;
		s->text_hi = segment.p_vaddr + segment.p_memsz;
	}
}

/* As unwind_compile. */
static struct unwind_table *foreign_rows(Elf *elf, uint16_t machine, struct err *err)
{
	struct unwind_section s = { .machine = machine };
	size_t names;
	GElf_Shdr head;
	if (elf_getshdrstrndx(elf, &names))
		abort();
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		if (!gelf_getshdr(scn, &head) || strcmp(elf_strptr(elf, names, head.sh_name), ".eh_frame") != 0)
			continue;
		Elf_Data *data = elf_rawdata(scn, NULL);
		s.bytes = data->d_buf;
		s.size = data->d_size;
		s.vaddr = head.sh_addr;
	}
	foreign_text(elf, &s);
	return unwind_compile_section(&s, err);
}

#endif
