/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/pins: the accounts of a collected heap, and beside them the sites whose surviving objects keep
 * otherwise empty blocks: blocks of the live process joined with what a recording saw allocated there.
 */
#ifndef ALYS_HEAPVIEW_PINS_H
#define ALYS_HEAPVIEW_PINS_H

#include "format/sink.h"
#include "heapview/heapview.h"
#include "model/model.h"
#include "report/report.h"

/* recorded: its live blocks, with in->catalog; in->snapshot is not looked at. 0 or -errno. */
int pins_write(const struct heap *recorded, const struct report_input *in, const struct report_options *o, struct sink_out *out,
	       struct err *err);

#endif
