/* SPDX-License-Identifier: Apache-2.0 */
/* sink/output: buffered output of sinks and reports to one fd. */
#ifndef ALYS_SINK_OUTPUT_H
#define ALYS_SINK_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "format/sink.h"

struct output {
	int fd;
	const char *path; /* as given, for messages; NULL = standard output */
	struct buf pending;
	int failed;
};

struct sink_out output_sink(struct output *o);
/* Writes the rest. Returns rc if it is already an error, otherwise the result of writing. */
int output_finish(struct output *o, int rc, struct err *err);
/* "PATH (1.2 MiB): ABOUT" for a file; for standard output only ABOUT. NULL: nothing. */
void output_say(const char *path, uint64_t size, const char *about);

#endif
