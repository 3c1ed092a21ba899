/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/typed_sites: names of types from a recording of the same process. In: a trace, the heap as it is
 * now. An object that is still there was allocated by some `Foo.new`, and its first four bytes are Foo's
 * number; most votes win. What was recorded by another run of the program teaches nothing: addresses
 * are those of this process.
 */
#ifndef ALYS_HEAPVIEW_TYPED_SITES_H
#define ALYS_HEAPVIEW_TYPED_SITES_H

#include "boehm/words.h"
#include "heapgraph/types.h"

int learn_types(struct types *t, const char *trace, uint32_t tgid, const struct boehm_heap *h, const struct words *w,
		struct err *err);

#endif
