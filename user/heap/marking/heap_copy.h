/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/heap_copy: a copy of a small heap's objects and of some variables at one moment: a memory_source that
 * replaces the process, which runs on meanwhile. In: a reading of the heap, ranges of variables. Of large pointer-free
 * objects only the start is copied: nobody follows links in them.
 */
#ifndef ALYS_MARKING_HEAP_COPY_H
#define ALYS_MARKING_HEAP_COPY_H

#include "base/buf.h"
#include "boehm/heap.h"

struct heap_copy;

/* *out is NULL if more than max bytes would be needed; else heap_copy_free. 0, -ENOMEM, -ESRCH or -EPERM. */
int heap_copy_new(struct memory *m, const struct boehm_heap *h, const struct rights_range *variables, size_t cnt, size_t max,
		  struct heap_copy **out);
/* As bytes, for another process. */
void heap_copy_put(const struct heap_copy *i, struct buf *out);
/* From there. 0, -EBADMSG or -ENOMEM. */
int heap_copy_take(const void *bytes, size_t n, struct heap_copy **out);
void heap_copy_free(struct heap_copy *i);
/* Borrowed. */
const struct memory_source *heap_copy_source(const struct heap_copy *i);

#endif
