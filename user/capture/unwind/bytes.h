/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/bytes: serialization of a table, sent by the process that compiles hostile files to the one that
 * publishes tables.
 */
#ifndef ALYS_UNWIND_BYTES_H
#define ALYS_UNWIND_BYTES_H

#include "base/buf.h"
#include "base/cursor.h"
#include "unwind/unwind.h"

void unwind_write(const struct unwind_table *t, struct buf *out);
/* NULL: out of memory, or malformed. A table that it returns is safe to publish and search, whatever it contains. */
struct unwind_table *unwind_read(struct cursor *c);

#endif
