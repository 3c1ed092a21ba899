/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf/outline: what addresses and names of a process need of a file, as bytes: its segments and its build id. A
 * process that may not read hostile files gets them from one that may.
 */
#ifndef ALYS_ELF_OUTLINE_H
#define ALYS_ELF_OUTLINE_H

#include "base/buf.h"
#include "base/cursor.h"
#include "elf/elf.h"

void elf_outline_write(const struct elf *e, struct buf *out);
/* An elf without sections, names and bytes. NULL: no memory, or these are no outline's bytes. */
struct elf *elf_outline_read(struct cursor *c);

#endif
