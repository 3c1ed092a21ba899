/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/bytes: a table as bytes, on its way from a process that compiles hostile files to one that publishes tables.
 */
#ifndef ALYS_UNWIND_BYTES_H
#define ALYS_UNWIND_BYTES_H

#include "base/buf.h"
#include "base/cursor.h"
#include "unwind/unwind.h"

void unwind_write(const struct unwind_table *t, struct buf *out);
/* NULL: no memory, or these are no table's bytes. What it gives can be published and looked into, whatever it says. */
struct unwind_table *unwind_read(struct cursor *c);

#endif
