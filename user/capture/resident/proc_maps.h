/* SPDX-License-Identifier: Apache-2.0 */
/* resident/proc_maps: the ranges that a process has mapped now. */
#ifndef ALYS_RESIDENT_PROC_MAPS_H
#define ALYS_RESIDENT_PROC_MAPS_H

#include <stdint.h>

/* In ascending order, without the kernel's own half. Stops at what is not 0 and returns it; none of a process that has ended. */
int proc_maps_each(uint32_t tgid, void *ctx, int (*each)(void *ctx, uint64_t start, uint64_t end));

#endif
