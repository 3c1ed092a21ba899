/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine/examiner: the processes that read the files of traced programs: one per file, without privileges, with limits
 * on time and memory. They are forked from a small process that reads nothing itself, so that starting one is cheap and
 * it inherits nothing of the recording; the recording still becomes its parent.
 *
 *   recording --order + file--> alys-examiner --fork--> reads the file, writes findings into a pipe, exits
 *             <--pid + pipe----
 */
#ifndef ALYS_EXAMINE_EXAMINER_H
#define ALYS_EXAMINE_EXAMINER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocators/own.h"
#include "examine/findings.h"
#include "functions/patterns.h"

struct examiner_order {
	struct findings_ask ask;
	uint64_t memory;  /* bytes, 0: the default of sandbox/jail.h */
	uint32_t seconds; /* of CPU */
	bool yields;      /* runs at low priority */
	char path[4096];
	char patterns[PATTERNS_TEXT_MAX]; /* those of ask.functions */
	struct own_functions own;
};

struct examiner_reply {
	pid_t pid; /* or -errno */
};

extern const char examiner_name[];

/* Serves requests until the peer closes; returns the exit status. */
int examiner_main(int sock);

#endif
