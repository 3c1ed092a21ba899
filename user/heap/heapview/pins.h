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

/* recorded: live blocks, with in->catalog; in->snapshot is not used. 0 or -errno. */
int pins_write(const struct heap *recorded, const struct report_input *in, const struct report_options *o, struct sink_out *out,
	       struct err *err);

#endif
