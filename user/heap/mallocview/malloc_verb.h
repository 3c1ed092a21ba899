/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/malloc_verb: what the malloc heap of a live process contains, where malloc is glibc's: its blocks by C++ class
 * and by size. Attaches no probes; stops the process only on request, while its heap is copied.
 */
#ifndef ALYS_MALLOCVIEW_MALLOC_VERB_H
#define ALYS_MALLOCVIEW_MALLOC_VERB_H

#include "base/err.h"
#include "format/sink.h"
#include "heapview/heapview.h"
#include "heapview/pins.h"

/* recorded: for o->heap, whose blocks keep nearly empty pages; or NULL. 0 or -errno, see glibc_find. */
int malloc_write(const struct census_options *o, const struct recorded_heap *recorded, struct sink_out *out, struct err *err);

#endif
