/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine/examiner: the processes that read the files of traced programs: one a file, without rights, with limits to
 * its time and memory. They are forked from a small process that reads nothing itself, so that to begin one costs
 * little and it holds nothing of the recording, whose child it is all the same.
 *
 *   recording --order + file--> alys-examiner --fork--> reads the file, writes findings into a pipe, ends
 *             <--pid + pipe----
 */
#ifndef ALYS_EXAMINE_EXAMINER_H
#define ALYS_EXAMINE_EXAMINER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "examine/findings.h"

struct examiner_order {
	struct findings_ask ask;
	uint64_t memory;  /* bytes, 0: as sandbox/jail.h gives */
	uint32_t seconds; /* of CPU */
	bool yields;      /* lets others go first */
	char path[4096];
};

struct examiner_reply {
	pid_t pid; /* or -errno */
};

extern const char examiner_name[];

/* Serves orders until the other side hangs up; the exit status. */
int examiner_main(int sock);

#endif
