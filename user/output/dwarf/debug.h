/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/debug: finds the DWARF of an ELF file: in the file itself, else in a separate file of the
 * same build, and what dwz moved out of that. Opens nothing: others give the descriptors.
 */
#ifndef ALYS_DWARF_DEBUG_H
#define ALYS_DWARF_DEBUG_H

#include <elfutils/libdw.h>

#include "dwarf/want.h"
#include "elf/elf.h"

struct debug_part {
	Elf *elf;
	Dwarf *dwarf;
	int fd; /* ours, or -1 */
};

struct debug {
	struct debug_part own, shared; /* shared: without one, its dwarf is NULL */
};

/*
 * 0, -ENOENT when there is none or none that can be trusted to fit, -E2BIG when there is one, but
 * packed and too large to be unpacked: a separate one is open then, for its symbols. more may be NULL.
 */
int debug_open(struct debug *d, int fd, const struct elf *e, const struct want_source *more);
void debug_close(struct debug *d);

#endif
