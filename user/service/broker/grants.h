/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker/grants: what the broker does for a collector that may be compromised, and what it refuses. Each request is
 * judged by what the kernel says about the process at that moment:
 *
 *   file      regular, ELF, a program or a library (no core dump), and mapped executable in that process
 *   memory    private and writable, except the stack with arguments and environment; and data of such files
 *   threads   where their stacks are, in the one process that a user named; stopped only if the user asked for it
 *   probes    on instructions of such a file: instruction boundaries are not checked, which would need parsing
 *   the rest  four tracepoints (ten with pages and mappings, and reports of page faults), chunks of our tables, reports of mappings
 *
 * A refusal has a message; a process or mapping that is simply gone has none.
 */
#ifndef ALYS_BROKER_GRANTS_H
#define ALYS_BROKER_GRANTS_H

#include <stdbool.h>

#include "access/rights.h"
#include "base/err.h"

/*
 * From now on the collector is `reader`, which may ask about this process and its own children only. The main thread's
 * stack may be read below the arguments, and the process stopped if `stops`.
 */
void grants_narrow(uint32_t target, uint32_t reader, bool stops);
/* 0, also without grants_narrow; or -EPERM, -ESRCH. */
int grants_cover(uint32_t tid, struct err *why);

/* See access/rights. */
int grant_mapped(uint32_t tid, uint64_t start, uint64_t end, struct err *why);
int grant_file(uint32_t tid, const char *path, struct err *why);
int grant_link(const struct rights_link *l, struct err *why);
int grant_tracepoint(const char *name, int prog_fd, bool pages, struct err *why);
int grant_faults(int cpu, int prog_fd, bool pages, struct err *why);
int grant_array(const char *name, uint32_t value_sz, struct err *why);
/* At most room bytes; -EFAULT if nothing of the first range may be read. */
int grant_threads(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap, struct err *why);
int64_t grant_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out, size_t room);

#endif
