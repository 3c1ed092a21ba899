/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/demangle: demangles C++, Rust and Crystal names. Other names stay as they are. */
#ifndef ALYS_DWARF_DEMANGLE_H
#define ALYS_DWARF_DEMANGLE_H

#include "base/buf.h"

#define DEMANGLE_MAX 1024 /* longer results are cut and end in "..." */

bool is_mangled(const char *name); /* of C++ or Rust */
void demangle(struct buf *out, const char *name);
/* False, and nothing written, if it is not a Crystal name. */
bool demangle_crystal(struct buf *out, const char *name);
/* Crystal's DWARF names inlined calls "new:fd:family", without argument names. */
void demangle_crystal_short(struct buf *out, const char *name);

#endif
