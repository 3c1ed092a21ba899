/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/jail: drops everything that a process does not need to read open descriptors and answer on one: user,
 * capabilities, files, network, other processes, memory and time.
 */
#ifndef ALYS_SANDBOX_JAIL_H
#define ALYS_SANDBOX_JAIL_H

#include <stdint.h>

#include "base/err.h"

/* Limit on writable memory. With code and touched pages of a mapped file the process stays below 300 MB. */
#define JAIL_MEMORY (256ull << 20)
#define JAIL_SECONDS 60

/*
 * Irrevocable. On error less was dropped than promised, so the caller must exit. Kernels without landlock do without.
 */
int jail_enter(uint64_t memory, struct err *err); /* at most JAIL_MEMORY; 0: JAIL_MEMORY */
/*
 * Drops user, capabilities and files, but sets no limits. For a process that reads nothing itself, but starts others
 * that do.
 */
int jail_leave_rights(struct err *err);
/* The limit of this process. */
uint64_t jail_memory(void);

#endif
