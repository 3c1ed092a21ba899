/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay/allowance: memory limit for reading traces: a base amount plus a multiple of the file size, whatever the file
 * contains. Enforced by the kernel.
 */
#ifndef ALYS_REPLAY_ALLOWANCE_H
#define ALYS_REPLAY_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog/catalog.h"

/* Real recordings need a tenth of it. */
#define ALLOWANCE_BASE (256ull << 20)
#define ALLOWANCE_PER_BYTE 512

/* Another file is read: raises this process' limit accordingly. */
void allowance_add(uint64_t file_bytes);
/* Bytes, for all files so far. */
uint64_t allowance(void);
/* Do all stacks as displayed, with inlined functions and names, stay within the text that such a file may produce? */
bool allowance_covers(const struct catalog *c, uint64_t file_bytes);

#endif
