/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/malloc_graph: which blocks of malloc lead to which: every aligned word of a block or a root that could be the
 * address of a block, or of its inside, counts. Words by which a block leads to itself do not. In: a copy. Out: a graph.
 */
#ifndef ALYS_MALLOCVIEW_MALLOC_GRAPH_H
#define ALYS_MALLOCVIEW_MALLOC_GRAPH_H

#include "heapgraph/graph.h"
#include "mallocview/malloc_copy.h"

/* Types of the graph: a block's class + this. Smaller numbers have a meaning of their own: see heapgraph/types. */
#define MALLOC_TYPE_BASE 16u

/* 0, -ENOMEM, or -EFBIG: more than 4 G blocks. Then graph_free. */
int malloc_graph_scan(struct graph *g, const struct malloc_copy *c);

#endif
