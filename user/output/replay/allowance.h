/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay/allowance: how much memory the reader of a trace may take: so much for itself, and so much for each byte of the
 * file. Whatever a file says, and whatever is made of it: the kernel sees to it.
 */
#ifndef ALYS_REPLAY_ALLOWANCE_H
#define ALYS_REPLAY_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog/catalog.h"

/* Recordings take a tenth of it. */
#define ALLOWANCE_BASE (256ull << 20)
#define ALLOWANCE_PER_BYTE 512

/* One more file is read: from here on this process may take what all of them may. */
void allowance_add(uint64_t file_bytes);
/* Bytes, of all files so far. */
uint64_t allowance(void);
/* Whether all stacks, as they are shown, with inlined functions and names, are no more text than such a file may make. */
bool allowance_covers(const struct catalog *c, uint64_t file_bytes);

#endif
