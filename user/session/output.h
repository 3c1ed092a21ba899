/* session/output: where sinks and reports write: small pieces gathered into large writes to one fd. */
#ifndef ALYS_SESSION_OUTPUT_H
#define ALYS_SESSION_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "sink/sink.h"

struct output {
	int fd;
	struct buf pending;
	int failed;
};

struct sink_out output_sink(struct output *o);
/* Writes the rest. Returns rc when that is an error already, else what became of the writing. */
int output_finish(struct output *o, int rc, struct err *err);

#endif
