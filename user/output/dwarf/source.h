/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/source: what DWARF says about an address: the function, the line, and the calls that the
 * compiler inlined there. Trees are read once per compilation unit and function, when first asked.
 */
#ifndef ALYS_DWARF_SOURCE_H
#define ALYS_DWARF_SOURCE_H

#include <elfutils/libdw.h>

#include "elf/elf.h"

#define SOURCE_DEPTH 128 /* inlined calls at one address, the function itself included */

struct place {
	const char *linkage; /* mangled name, or NULL */
	const char *name;    /* as DWARF writes it: often short, or NULL */
	const char *file;
	uint32_t line, column;
};

struct source;

/* Borrows the dwarf; e is that of the code, whose executable segments bound what is believed. */
struct source *source_new(Dwarf *dwarf, const struct elf *e);
void source_free(struct source *s);
/*
 * Innermost first, the physical function last (its names may be NULL); texts are borrowed from the
 * dwarf. 0 when no unit holds pc, -ENOMEM.
 */
int source_find(struct source *s, uint64_t pc, struct place out[SOURCE_DEPTH]);

#endif
