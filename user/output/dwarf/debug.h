/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/debug: finds the DWARF of an ELF file: in the file itself, else in a separate file of the same build, plus the
 * parts that dwz moved to a shared file. Opens nothing: descriptors are passed in.
 */
#ifndef ALYS_DWARF_DEBUG_H
#define ALYS_DWARF_DEBUG_H

#include <elfutils/libdw.h>

#include "dwarf/want.h"
#include "elf/elf.h"

struct debug_part {
	Elf *elf;
	Dwarf *dwarf;
	int fd; /* owned, or -1 */
};

struct debug {
	struct debug_part own, shared; /* shared: dwarf is NULL if there is none */
};

/*
 * 0, -ENOENT: none, or none that certainly matches; -E2BIG: compressed, and too large to unpack; a separate file is
 * then open for its symbols. more may be NULL.
 */
int debug_open(struct debug *d, int fd, const struct elf *e, const struct want_source *more);
void debug_close(struct debug *d);

#endif
