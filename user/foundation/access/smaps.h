/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/smaps: what processes take of the machine's memory for themselves. A page that several have counts for each with its
 * share. Maps of BPF programs are left out where they are mapped: the kernel accounts for each of them once.
 */
#ifndef ALYS_ACCESS_SMAPS_H
#define ALYS_ACCESS_SMAPS_H

#include <stdint.h>

/* Bytes of the process and of all that come from it; of those whose pages may not be looked at, all that are resident. */
uint64_t smaps_of_family(uint32_t pid);

#endif
