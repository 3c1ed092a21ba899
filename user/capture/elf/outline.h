/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf/outline: what address translation needs of a file (segments and build id), serialized. A process that may not
 * read hostile files gets it from one that may.
 */
#ifndef ALYS_ELF_OUTLINE_H
#define ALYS_ELF_OUTLINE_H

#include "base/buf.h"
#include "base/cursor.h"
#include "elf/elf.h"

void elf_outline_write(const struct elf *e, struct buf *out);
/* An elf without sections, names and bytes. NULL: out of memory, or malformed. */
struct elf *elf_outline_read(struct cursor *c);

#endif
