/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/heap_copy: what the objects of a small heap and some variables beside it hold at one moment, copied: it takes the
 * process' place as a memory_source, when the process has long gone on. In: a reading of the heap, ranges of variables.
 * Of large objects that hold no pointers only the begin is copied: nobody looks for links in them.
 */
#ifndef ALYS_MARKING_HEAP_COPY_H
#define ALYS_MARKING_HEAP_COPY_H

#include "boehm/heap.h"

struct heap_copy;

/* *out is NULL when all of it is more than max bytes; else heap_copy_free. 0, -ENOMEM, -ESRCH or -EPERM. */
int heap_copy_new(struct memory *m, const struct boehm_heap *h, const struct rights_range *variables, size_t cnt, size_t max,
		  struct heap_copy **out);
void heap_copy_free(struct heap_copy *i);
/* Borrowed. */
const struct memory_source *heap_copy_source(const struct heap_copy *i);
size_t heap_copy_bytes(const struct heap_copy *i);

#endif
