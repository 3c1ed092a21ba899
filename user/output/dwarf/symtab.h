/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/symtab: the functions of an ELF file by address, from its own symbol tables and from separate ones. Names are
 * borrowed from the files.
 */
#ifndef ALYS_DWARF_SYMTAB_H
#define ALYS_DWARF_SYMTAB_H

#include "dwarf/spans.h"
#include "elf/elf.h"

struct symtab {
	const char **names;
	size_t names_cnt, names_cap;
	struct spans sized, unsized;
};

/* code: the file that runs; others may be NULL. 0 or -ENOMEM. */
int symtab_read(struct symtab *t, const struct elf *code, const struct elf *const others[], size_t others_cnt);
/* Are pc and the next byte in the same function, whose size is known? */
bool symtab_inside(const struct symtab *t, uint64_t pc);
const char *symtab_find(const struct symtab *t, uint64_t pc); /* NULL: in no function */
void symtab_free(struct symtab *t);

#endif
