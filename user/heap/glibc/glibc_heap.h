/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc: the heap of glibc's malloc, read from outside: arenas, chunks, and which of these are free. In: the memory of a
 * process, which may change while it is read and is not trusted. Out: all chunks by address, each with its state.
 */
#ifndef ALYS_GLIBC_HEAP_H
#define ALYS_GLIBC_HEAP_H

#include "glibc/malloc_chunks.h"

/*
 * One reading. 0, with `odd` counted; -EILSEQ: chunks lead nowhere (damaged, or changed faster than it can be read);
 * -EAGAIN: the process stands
 * still, but a thread is in malloc; -ESRCH, -EPERM, -ENOMEM. Then glibc_heap_free.
 */
int glibc_heap_read(struct memory *m, const struct space *s, const struct glibc_layout *l, bool still, struct glibc_heap *out,
		    struct err *err);
/* Which chunks are free: from the lists that were read along. After glibc_heap_read; needs the process no more. */
int glibc_heap_settle(struct glibc_heap *h, const struct glibc_layout *l);

#endif
