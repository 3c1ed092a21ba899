/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/dumpfile: the objects of a heap in a .alys file: types, references and allocation sites. To other verbs it
 * is a recording of one moment, in which each live object was allocated (so report, diff and convert read it); graph
 * finds the edges in frames of their own (HEAP in trace/FORMAT.md), which others skip.
 */
#ifndef ALYS_HEAPVIEW_DUMPFILE_H
#define ALYS_HEAPVIEW_DUMPFILE_H

#include "heapview/blocks.h"
#include "heapview/objects.h"

/*
 * fd is a new, empty file, always closed. sites: where objects were allocated; NULL = unknown. Sites and requested
 * sizes are stored in the graph.
 */
int dumpfile_write(struct objects *o, const struct blocks *sites, const char *words, int fd, struct err *err);
/* 0, then objects_free; -EINVAL: not a dump, or damaged. */
int dumpfile_read(struct objects *o, const char *path, struct err *err);

#endif
