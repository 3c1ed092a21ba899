/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker/grants: what the broker does for a collector that may be anybody's by now, and what it refuses. Whatever is
 * asked for is judged by what the kernel says of the process at that moment:
 *
 *   file      regular, ELF, a program or a library (no core dump), and mapped to be run in that process
 *   memory    private and writable, but the stack that begins with arguments and environment; and the data of files as above
 *   threads   where their stacks are, of the one process that a user named; stopped when the user said so
 *   probes    on instructions of such a file: where one begins is not checked, that would be parsing
 *   the rest  four tracepoints, our tables' chunks, reports of what processes map
 *
 * A refusal has a sentence; what is only gone, or not mapped, has none.
 */
#ifndef ALYS_BROKER_GRANTS_H
#define ALYS_BROKER_GRANTS_H

#include <stdbool.h>

#include "access/rights.h"
#include "base/err.h"

/*
 * From here on the collector is `reader`, which asks about this process and about those that it starts, and about no other.
 * Its first thread's stack may be read below the arguments, and it may be stopped where `stops`.
 */
void grants_narrow(uint32_t target, uint32_t reader, bool stops);
/* 0, also where they were not narrowed; or -EPERM, -ESRCH. */
int grants_cover(uint32_t tid, struct err *why);

/* As in access/rights. */
int grant_mapped(uint32_t tid, uint64_t start, uint64_t end, struct err *why);
int grant_file(uint32_t tid, const char *path, struct err *why);
int grant_link(const struct rights_link *l, struct err *why);
int grant_tracepoint(const char *name, int prog_fd, struct err *why);
int grant_array(const char *name, uint32_t value_sz, struct err *why);
/* At most room bytes; -EFAULT where nothing of the first range may be read. */
int grant_threads(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap, struct err *why);
int64_t grant_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out, size_t room);

#endif
