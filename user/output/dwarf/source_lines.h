/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/source_lines: function, line and inlined calls at an address, from DWARF. Each compilation unit and function is
 * parsed once, on first use.
 */
#ifndef ALYS_DWARF_SOURCE_LINES_H
#define ALYS_DWARF_SOURCE_LINES_H

#include <elfutils/libdw.h>

#include "elf/elf.h"

#define SOURCE_DEPTH 128 /* inlined calls at one address, the function itself included */

struct place {
	const char *linkage; /* mangled name, or NULL */
	const char *name;    /* as in DWARF: often short, or NULL */
	const char *file;
	uint32_t line, column;
};

struct source;

/* Borrows the dwarf; e is the file with the code, whose executable segments limit which ranges are accepted. */
struct source *source_new(Dwarf *dwarf, const struct elf *e);
void source_free(struct source *s);
/*
 * Innermost first, the physical function last (its names may be NULL); texts are borrowed. 0 if no unit contains pc,
 * -ENOMEM.
 */
int source_find(struct source *s, uint64_t pc, struct place out[SOURCE_DEPTH]);

#endif
