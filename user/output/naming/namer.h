/* SPDX-License-Identifier: Apache-2.0 */
/* naming/namer: the symbolizer with messages going to the log and a progress bar for downloads. */
#ifndef ALYS_NAMING_NAMER_H
#define ALYS_NAMING_NAMER_H

#include "recording/handles.h"
#include "symbol/symbol.h"

/* Rejects --debuginfod if it cannot work. */
int namer_config(struct symbolizer_config *out, enum symbol_depth depth, bool raw_names, bool debuginfod, struct err *err);

/*
 * A symbolizer for the modules of c, which is the recording's catalog or part of it, with the files that its processes
 * have mapped. memory: limit of a worker, 0 = none. NULL: see err.
 */
struct symbolizer *namer_of_recording(const struct handles *h, const struct catalog *c, uint64_t memory, struct err *err);

#endif
