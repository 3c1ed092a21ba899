/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview: the verbs `census`, `graph` and `dump`, and `report --heap`: of a collector's heap where there is one, else of glibc's
 * malloc.
 */
#ifndef ALYS_MALLOCVIEW_H
#define ALYS_MALLOCVIEW_H

#include "base/err.h"
#include "heapview/heapview.h"
#include "heapview/pins.h"

/* The exit status. */
int run_census(const struct census_options *o, struct err *err);
int run_graph(const struct graph_options *o, struct err *err);
int run_dump(const struct dump_options *o, struct err *err);
/*
 * `report --heap` after a recording, with the sites that keep nearly empty pages or blocks: in a process of its own, because
 * a recording has rights and threads. 0 or -errno; that process has told why.
 */
int mallocview_after_recording(const struct census_options *o, const struct recorded_heap *recorded);
/* Can it be read, as far as is seen before it is? 0, -ENOENT or -ENOTSUP, in the same way. */
int mallocview_find(uint32_t tgid);

#endif
