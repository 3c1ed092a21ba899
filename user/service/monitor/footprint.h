/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/footprint: what all that belongs to a recording takes of the machine's memory, each page of it once: what its
 * processes have for themselves, and the maps of its BPF programs. In: /proc. Out: bytes.
 */
#ifndef ALYS_MONITOR_FOOTPRINT_H
#define ALYS_MONITOR_FOOTPRINT_H

#include <stdint.h>

struct footprint {
	uint64_t processes; /* the one with the rights, this one, helpers */
	uint64_t kernel;    /* in maps, rings among them */
	uint64_t resident;  /* in this process, maps included, when the others were looked at */
};

/* Only what changes quickly, this process; costs microseconds. Bytes of all. */
uint64_t footprint_now(const struct footprint *m);
/* All of it; costs a millisecond. */
void footprint_look(struct footprint *m);

#endif
