/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/smaps: memory that processes use (PSS: a shared page counts in proportion). Mapped BPF maps are left out: the
 * kernel accounts for each of them once.
 */
#ifndef ALYS_ACCESS_SMAPS_H
#define ALYS_ACCESS_SMAPS_H

#include <stdint.h>

/* Bytes used by a process and all its descendants; RSS for those whose smaps cannot be read. */
uint64_t smaps_of_family(uint32_t pid);

#endif
