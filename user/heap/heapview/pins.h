/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/pins: statistics of a collected heap, with the sites whose surviving objects keep nearly empty blocks in
 * use: blocks of the live process joined with the allocations of a recording.
 */
#ifndef ALYS_HEAPVIEW_PINS_H
#define ALYS_HEAPVIEW_PINS_H

#include "format/sink.h"
#include "heapview/heapview.h"
#include "model/model.h"
#include "report/report.h"

struct recorded_heap {
	const struct heap *blocks;
	const struct report_input *in; /* its catalog; its snapshot is not used */
};

/* 0 or -errno. */
int pins_write(const struct recorded_heap *recorded, const struct report_options *o, struct sink_out *out, struct err *err);
/* The sites of these blocks, with texts above and below for people. 0 or -errno. */
int pins_write_sites(const struct heap *blocks, const struct recorded_heap *from, const struct report_options *o,
		     const char *above, const char *below, struct sink_out *out, struct err *err);

#endif
