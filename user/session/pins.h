/*
 * session/pins: the accounts of a collected heap, and beside them the sites whose surviving objects keep
 * otherwise empty blocks: blocks of the live process joined with what a recording saw allocated there.
 */
#ifndef ALYS_SESSION_PINS_H
#define ALYS_SESSION_PINS_H

#include "model/model.h"
#include "report/report.h"
#include "session/options.h"
#include "sink/sink.h"

/* recorded: its live blocks, with in->catalog; in->snapshot is not looked at. 0 or -errno. */
int pins_write(const struct heap *recorded, const struct report_input *in, const struct report_request *o,
	       struct sink_out *out, struct err *err);

#endif
