/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/footprint: memory used by everything that belongs to a recording, each page counted once: its processes, and
 * the maps of its BPF programs. In: /proc. Out: bytes.
 */
#ifndef ALYS_MONITOR_FOOTPRINT_H
#define ALYS_MONITOR_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

struct footprint {
	uint64_t processes; /* broker, this process, helpers */
	uint64_t kernel;    /* BPF maps, including rings */
	uint64_t resident;  /* of this process, including maps, at the last full measurement */
	uint64_t looked_ns; /* when that was */
};

/* Updates only this process' part; takes microseconds. Total bytes. */
uint64_t footprint_now(const struct footprint *m);
/* Full measurement; takes milliseconds. */
void footprint_look(struct footprint *m, uint64_t now_ns);
/* The same, if the last one may no longer hold. helped: other processes of ours work and may grow. */
void footprint_renew(struct footprint *m, uint64_t now_ns, bool helped);

#endif
