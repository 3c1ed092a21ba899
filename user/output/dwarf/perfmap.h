/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/perfmap: names of code that a virtual machine made while it ran, from the file that it
 * keeps for perf: a line "START SIZE NAME" a function, start and size in hex, newer lines below.
 */
#ifndef ALYS_DWARF_PERFMAP_H
#define ALYS_DWARF_PERFMAP_H

#include "catalog/catalog.h"

/*
 * Fills out[i] for pcs[i], which are sorted; where several lines hold an address, the last one wins.
 * Texts are the caller's to free. 0, or -errno when the file cannot be read; what was read counts.
 */
int perfmap_find(int fd, const uint64_t *pcs, size_t n, struct symbol *out);

#endif
