/*
 * symbol/debug: finds the DWARF of an ELF file: in the file itself, else in a separate file of the
 * same build under /usr/lib/debug or beside it (.gnu_debuglink). Never asks the network.
 */
#ifndef ALYS_SYMBOL_DEBUG_H
#define ALYS_SYMBOL_DEBUG_H

#include <elfutils/libdw.h>

#include "elf/elf.h"

struct debug {
	Elf *elf;
	Dwarf *dwarf;
	uint64_t bytes; /* of its sections, which libelf keeps in memory */
	int fd;         /* of a separate file, -1 otherwise */
};

/* 0, or -ENOENT when there is none or none that can be trusted to fit. path may be NULL. */
int debug_open(struct debug *d, int fd, const char *path, const struct elf *e);
void debug_close(struct debug *d);

#endif
