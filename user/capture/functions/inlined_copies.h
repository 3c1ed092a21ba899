/* SPDX-License-Identifier: Apache-2.0 */
/* functions/inlined_copies: functions that a compiler put into their callers, as DWARF tells of them. */
#ifndef ALYS_FUNCTIONS_INLINED_COPIES_H
#define ALYS_FUNCTIONS_INLINED_COPIES_H

#include "elf/elf.h"

/*
 * Calls `copy` for each, with the function's name, mangled if it has such a name; the same function has the same pointer
 * each time within a unit. Nothing without DWARF in the file itself. A non-zero result of copy stops and is returned.
 */
int inlined_copies(int fd, const struct elf *e, int (*copy)(void *ctx, const char *name), void *ctx);

#endif
