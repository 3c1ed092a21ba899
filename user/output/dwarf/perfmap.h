/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/perfmap: names of generated code, from a perf map: one line "START SIZE NAME" per function, start and size in
 * hex; later lines override earlier ones.
 */
#ifndef ALYS_DWARF_PERFMAP_H
#define ALYS_DWARF_PERFMAP_H

#include "catalog/catalog.h"

/*
 * Fills out[i] for pcs[i], which are sorted; if several lines match, the last one counts. The caller frees the texts.
 * 0, or -errno if the file cannot be read; what was read is valid.
 */
int perfmap_find(int fd, const uint64_t *pcs, size_t n, struct symbol *out);

#endif
