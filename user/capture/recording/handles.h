/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording/handles: what the parts of one recording share, each for its own use. Who makes the recording owns them; the
 * parts borrow the struct and look into it anew each time: a recording without an end gets other catalogs and files.
 */
#ifndef ALYS_RECORDING_HANDLES_H
#define ALYS_RECORDING_HANDLES_H

#include "recording/options.h"

struct catalog;
struct probe;
struct select;
struct target_table;
struct trace_writer;

struct handles {
	const struct record_options *o;
	const struct select *select; /* who is taken in by itself; NULL = nobody */
	struct catalog *catalog;
	struct target_table *targets;
	struct probe *probe;
	struct trace_writer *writer; /* of the file that is being written; NULL = none */
	bool flowing;                /* the ring is being read, and processes looked after: nothing may take its time */
	bool held;                   /* the process that is being dealt with waits for that */
};

#endif
