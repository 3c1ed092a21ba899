/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/census_verb: what the heap of a live process contains, without probes or a recording: its objects by type,
 * or statistics of its blocks.
 */
#ifndef ALYS_HEAPVIEW_CENSUS_VERB_H
#define ALYS_HEAPVIEW_CENSUS_VERB_H

#include "base/err.h"
#include "boehm/heap.h"
#include "format/sink.h"
#include "heapview/heapview.h"

#define CENSUS_PINNED_SHARE 0.1 /* of a block's slots: a block with at most this share live counts as pinned */

/* 0 or -errno, see collector_open. heap not NULL: receives the reading, then owned by the caller: boehm_heap_free. */
int census_write(const struct census_options *o, struct boehm_heap *heap, struct sink_out *out, struct err *err);

#endif
