/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording/handles: what the parts of one recording share. The creator of the recording owns them; the parts borrow
 * the struct and read it anew each time, because an endless recording replaces its catalog.
 */
#ifndef ALYS_RECORDING_HANDLES_H
#define ALYS_RECORDING_HANDLES_H

#include "recording/options.h"

struct catalog;
struct consumer;
struct counting;
struct probe;
struct select;
struct target_table;

struct handles {
	const struct record_options *o;
	const struct select *select; /* which processes are added automatically; NULL = none */
	struct catalog *catalog;
	struct target_table *targets;
	struct probe *probe;
	struct counting *counting;  /* calls of chosen functions; NULL = none are counted */
	const struct consumer *out; /* takes events and definitions; NULL = nobody, yet */
	bool flowing;               /* the ring is being read and processes are handled: do not block */
	bool held;                  /* the process at hand is stopped until this is done */
};

#endif
