/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/demangle: names as the language writes them, from names as its compiler does: C++, Rust,
 * Crystal. Any other name stays as it is.
 */
#ifndef ALYS_DWARF_DEMANGLE_H
#define ALYS_DWARF_DEMANGLE_H

#include "base/buf.h"

#define DEMANGLE_MAX 1024 /* longer results are cut and end in "..." */

bool is_mangled(const char *name); /* by C++ or Rust */
void demangle(struct buf *out, const char *name);
/* False, and nothing written, when the name is not one of Crystal's. */
bool demangle_crystal(struct buf *out, const char *name);
/* Of an inlined call Crystal's DWARF has no more than "new:fd:family": without its arguments' names. */
void demangle_crystal_short(struct buf *out, const char *name);

#endif
