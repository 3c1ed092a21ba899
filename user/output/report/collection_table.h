/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/collection_table: a garbage collector's collections as a table. In: collection events of a recording. Out: one row
 * each, newest last, and totals.
 */
#ifndef ALYS_REPORT_COLLECTION_TABLE_H
#define ALYS_REPORT_COLLECTION_TABLE_H

#include "base/map.h"
#include "report/report.h"

struct collection_row {
	struct event event; /* EVENT_GC */
	uint64_t net_sz;    /* recorded in its process before it, less explicit frees; scaled when sampled */
};

/* Zeroed: no collections yet. */
struct collection_list {
	struct collection_row *rows;
	size_t rows_cnt, rows_cap;
	struct map net_sz; /* by process */
};

/* Call for every event of the recording, in order, with its effect. 0 or -ENOMEM. */
int collections_note(struct collection_list *l, const struct event *e, const struct applied *a);
/* -ENODATA if there were none. Uses the options format, top, columns and pid. */
int report_collections(const struct report_input *in, const struct collection_list *l, const struct report_options *o,
		       struct sink_out *out, struct err *err);
void collection_list_free(struct collection_list *l);

#endif
