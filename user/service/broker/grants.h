/*
 * broker/grants: what the broker does for a collector that may be anybody's by now, and what it refuses. Whatever is
 * asked for is judged by what the kernel says of the process at that moment:
 *
 *   file      regular, ELF, a program or a library (no core dump), and mapped to be run in that process
 *   memory    private and writable, but the stack that begins with arguments and environment; and the data of files as above
 *   probes    on instructions of such a file: where one begins is not checked, that would be parsing
 *   the rest  four tracepoints, our tables' chunks, news of what processes map
 *
 * A refusal has a sentence; what is only gone, or not mapped, has none.
 */
#ifndef ALYS_BROKER_GRANTS_H
#define ALYS_BROKER_GRANTS_H

#include "access/rights.h"
#include "base/err.h"

/* As in base/rights. */
int grant_mapped(uint32_t tid, uint64_t start, uint64_t end, struct err *why);
int grant_file(uint32_t tid, const char *path, struct err *why);
int grant_link(const struct rights_link *l, struct err *why);
int grant_tracepoint(const char *name, int prog_fd, struct err *why);
int grant_array(const char *name, uint32_t value_sz, struct err *why);
/* At most room bytes; -EFAULT where nothing of the first range may be read. */
int64_t grant_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out, size_t room);

#endif
