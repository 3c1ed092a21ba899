/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/packed: the symbol table that distributions leave in stripped files, xz-packed as an ELF
 * file of its own (.gnu_debugdata, "MiniDebugInfo").
 */
#ifndef ALYS_DWARF_PACKED_H
#define ALYS_DWARF_PACKED_H

#include "elf/elf.h"

/* Owned by the caller; NULL if e has none, or it cannot be unpacked. */
struct elf *packed_open(const struct elf *e);

#endif
