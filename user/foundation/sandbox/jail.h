/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/jail: takes from this process all it does not need to read descriptors that it has and to
 * answer on one: user, capabilities, files, the network, other processes, memory and time.
 */
#ifndef ALYS_SANDBOX_JAIL_H
#define ALYS_SANDBOX_JAIL_H

#include <stdint.h>

#include "base/err.h"

/* That it may write to at most. With its code and what it touches of a mapped file it stays below 300 MB. */
#define JAIL_MEMORY (256ull << 20)
#define JAIL_SECONDS 60

/*
 * There is no way back. An error means that less was taken than promised, so the caller has to end.
 * Kernels without landlock do without.
 */
int jail_enter(uint64_t memory, struct err *err); /* at most JAIL_MEMORY; 0: that */
/*
 * Takes what is no limit: user, capabilities, files. For a process that reads nothing itself, but starts such that do.
 */
int jail_leave_rights(struct err *err);
/* What this process was given. */
uint64_t jail_memory(void);

#endif
