/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/census_verb: what the heap of a live process holds, without a probe and without a recording: its
 * objects by type, or the accounts of its blocks.
 */
#ifndef ALYS_HEAPVIEW_CENSUS_VERB_H
#define ALYS_HEAPVIEW_CENSUS_VERB_H

#include "base/err.h"
#include "boehm/heap.h"
#include "format/sink.h"
#include "heapview/heapview.h"

#define CENSUS_PINNED_SHARE 0.1 /* of a block's slots: as few live ones only pin it */

/* 0 or -errno as collector_open. With heap not NULL what was read is then the caller's: boehm_heap_free. */
int census_write(const struct census_options *o, struct boehm_heap *heap, struct sink_out *out, struct err *err);

#endif
