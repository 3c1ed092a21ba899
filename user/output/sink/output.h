/* SPDX-License-Identifier: Apache-2.0 */
/* sink/output: where sinks and reports write: small pieces gathered into large writes to one fd. */
#ifndef ALYS_SINK_OUTPUT_H
#define ALYS_SINK_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "format/sink.h"

struct output {
	int fd;
	const char *path; /* as given, for what is said of it; NULL = standard output */
	struct buf pending;
	int failed;
};

struct sink_out output_sink(struct output *o);
/* Writes the rest. Returns rc when that is an error already, else what became of the writing. */
int output_finish(struct output *o, int rc, struct err *err);
/* "PATH (1.2 MiB): ABOUT" of a file that is there; of standard output only what it is about. NULL: nothing to be said. */
void output_say(const char *path, uint64_t size, const char *about);

#endif
