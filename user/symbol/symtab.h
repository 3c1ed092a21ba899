/*
 * symbol/symtab: the functions of an ELF file's symbol tables by address. Names are borrowed from
 * the elf.
 */
#ifndef ALYS_SYMBOL_SYMTAB_H
#define ALYS_SYMBOL_SYMTAB_H

#include "elf/elf.h"
#include "symbol/spans.h"

struct symtab {
	const char **names;
	size_t names_cnt, names_cap;
	struct spans sized, unsized;
};

int symtab_read(struct symtab *t, const struct elf *e);
const char *symtab_find(const struct symtab *t, uint64_t pc); /* NULL when no function holds it */
void symtab_free(struct symtab *t);

#endif
