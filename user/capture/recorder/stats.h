/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/stats: events and stacks counted by the recording itself, for the ledger. */
#ifndef ALYS_RECORDER_STATS_H
#define ALYS_RECORDER_STATS_H

#include <stdint.h>

struct recorder_stats {
	uint64_t written[4];     /* events handed to the writer, by kind */
	uint64_t foreign;        /* records of processes that are no longer known */
	uint64_t unknown_stacks; /* events whose stack record was lost */
	uint64_t unresolved;     /* stacks with an address in no known file */
};

#endif
