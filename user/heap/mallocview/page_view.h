/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/page_view: where the resident memory of a process is, by kind of mapping, if its allocator is one whose blocks are not
 * read: jemalloc, tcmalloc, mimalloc, musl, one linked into the program. With a recording also which sites keep pages.
 */
#ifndef ALYS_MALLOCVIEW_PAGE_VIEW_H
#define ALYS_MALLOCVIEW_PAGE_VIEW_H

#include "base/err.h"
#include "format/sink.h"
#include "heapview/pins.h"

/* why: that glibc's malloc is not read, for people. recorded may be NULL. 0 or -errno. */
int page_view_write(const struct census_options *o, const struct recorded_heap *recorded, const char *why, struct sink_out *out,
		    struct err *err);

#endif
