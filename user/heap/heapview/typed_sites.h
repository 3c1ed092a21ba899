/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/typed_sites: learns type names from a recording of the same process. In: a trace, the current heap. A live
 * object was allocated by some `Foo.new`, and its first four bytes are Foo's id; the majority wins. A recording of
 * another run is of no use, because addresses differ.
 */
#ifndef ALYS_HEAPVIEW_TYPED_SITES_H
#define ALYS_HEAPVIEW_TYPED_SITES_H

#include "boehm/words.h"
#include "heapgraph/types.h"

int learn_types(struct types *t, const char *trace, uint32_t tgid, const struct boehm_heap *h, const struct words *w,
		struct err *err);

#endif
