/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_objects: the blocks of glibc's malloc in a live process as objects: types are C++ classes and sizes. */
#ifndef ALYS_MALLOCVIEW_MALLOC_OBJECTS_H
#define ALYS_MALLOCVIEW_MALLOC_OBJECTS_H

#include "heapview/objects.h"

/* An objects_read_fn: of a collected heap where there is one, else, or if asked for, of malloc's. */
int malloc_objects_read(struct objects *o, const struct heap_ask *ask, struct err *err);

#endif
