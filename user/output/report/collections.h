/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/collections: what a garbage collector did, collection by collection, as a table. In: the
 * events of collections in a recording. Out: a row for each, the newest last, and sums.
 */
#ifndef ALYS_REPORT_COLLECTIONS_H
#define ALYS_REPORT_COLLECTIONS_H

#include "base/map.h"
#include "report/report.h"

struct collection_row {
	struct event event; /* EVENT_GC */
	uint64_t net_sz;    /* recorded in its process before it, less what calls freed; scaled when sampled */
};

/* Zeroed: no collections yet. */
struct collection_list {
	struct collection_row *rows;
	size_t rows_cnt, rows_cap;
	struct map net_sz; /* by process */
};

/* Every event of the recording in order, and what it did. 0 or -ENOMEM. */
int collections_note(struct collection_list *l, const struct event *e, const struct applied *a);
/* -ENODATA when there was none. Of the options format, top, columns and pid count. */
int report_collections(const struct report_input *in, const struct collection_list *l, const struct report_options *o,
		       struct sink_out *out, struct err *err);
void collection_list_free(struct collection_list *l);

#endif
