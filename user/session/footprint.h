/*
 * session/footprint: what all that belongs to a recording takes of the machine's memory. In: /proc. Out: bytes. Other
 * processes count with the most they ever had, and pages that several of them have count for each.
 */
#ifndef ALYS_SESSION_FOOTPRINT_H
#define ALYS_SESSION_FOOTPRINT_H

#include <stdint.h>

struct footprint {
	uint64_t own;    /* resident in this process, the ring that it maps included */
	uint64_t others; /* in the process with the rights, and in helpers */
	uint64_t kernel; /* in maps of BPF programs, but for the ring */
};

/* Only what changes quickly; costs microseconds. */
void footprint_look_own(struct footprint *m);
/* All of it; costs a millisecond. */
void footprint_look(struct footprint *m);
uint64_t footprint_sum(const struct footprint *m);

#endif
