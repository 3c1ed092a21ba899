/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming/namer: the one caller of symbolizers, for a recording and for a trace: messages go to the log, downloads and the run
 * show their progress.
 */
#ifndef ALYS_NAMING_NAMER_H
#define ALYS_NAMING_NAMER_H

#include "recording/handles.h"
#include "symbol/symbol.h"

struct namer_options {
	enum symbol_depth depth;
	bool raw_names, debuginfod;
	bool improve, replace; /* of names that are there, see struct symbolizer_config */
	uint64_t memory;       /* limit of a worker, 0 = none */
};

/* NULL: --debuginfod cannot work, or out of memory. It has no files yet. */
struct symbolizer *namer_new(const struct namer_options *o, struct err *err);
/* The debug information of a module without a file, or -1. */
int namer_fetch(const uint8_t *id, size_t id_sz);
/* symbolizer_run, with its progress on the terminal. */
int namer_run(struct symbolizer *s, struct catalog *c, struct err *err);

/*
 * A symbolizer for the modules of c, which is the recording's catalog or part of it, with the files that its processes
 * have mapped. memory: limit of a worker, 0 = none. NULL: see err.
 */
struct symbolizer *namer_of_recording(const struct handles *h, const struct catalog *c, uint64_t memory, struct err *err);

#endif
