/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/memory: the memory of another process, read only (process_vm_readv, by who has the right to): it is never stopped for it
 * and never written to. What comes back is what was there at that moment, piece by piece; nothing in it
 * is to be believed. A copy takes its place when there is one (source): marking/heap_copy, tests.
 */
#ifndef ALYS_BOEHM_MEMORY_H
#define ALYS_BOEHM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "access/rights.h"

/* Stands in for a process: the bytes it could read from the front, as process_vm_readv does; or -errno. */
struct memory_source {
	int64_t (*read)(void *ctx, uint64_t addr, void *out, size_t n);
	void *ctx;
};

struct memory {
	uint32_t tgid;
	uint32_t through;                   /* thread to read through where the first has exited, 0 = the first */
	const struct memory_source *source; /* NULL: the process tgid */
	uint64_t reads, bytes;              /* cost so far: system calls, bytes asked for */
};

/* All of it: 0, or -EFAULT (not all is mapped), -ESRCH (it has ended), -EPERM. */
int memory_read(struct memory *m, uint64_t addr, void *out, size_t n);
/*
 * Many ranges in few system calls, one behind the other into out. A range of which anything cannot be
 * read is zeroed and counted (unreadable may be NULL). 0, or -ESRCH, -EPERM for the process as a whole.
 */
int memory_read_ranges(struct memory *m, const struct rights_range *r, size_t cnt, void *out, size_t *unreadable);

#endif
