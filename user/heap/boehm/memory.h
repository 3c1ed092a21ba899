/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/memory: reads the memory of another process (process_vm_readv, directly or through the broker), which is
 * neither stopped nor written to. Data is a snapshot of each piece at its time, and untrusted. A copy can replace the
 * process (source): marking/heap_copy, tests.
 */
#ifndef ALYS_BOEHM_MEMORY_H
#define ALYS_BOEHM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "access/rights.h"

/*
 * Replaces a process: returns the number of bytes read before the first failure, as process_vm_readv does; or -errno.
 */
struct memory_source {
	int64_t (*read)(void *ctx, uint64_t addr, void *out, size_t n);
	void *ctx;
};

struct memory {
	uint32_t tgid;
	uint32_t through;                   /* thread to read through if the main thread has exited, 0 = the main thread */
	const struct memory_source *source; /* NULL: the process tgid */
	uint64_t reads, bytes;              /* cost so far: system calls, bytes requested */
};

/* All or nothing: 0, or -EFAULT (not all mapped), -ESRCH (it has ended), -EPERM. */
int memory_read(struct memory *m, uint64_t addr, void *out, size_t n);
/*
 * Many ranges in few system calls, one after the other into out. A range that is not completely readable is zeroed and
 * counted (unreadable may be NULL). 0, or -ESRCH, -EPERM for the process as a whole.
 */
int memory_read_ranges(struct memory *m, const struct rights_range *r, size_t cnt, void *out, size_t *unreadable);
/*
 * The same of ranges in order, each to where it lies behind `base`: at out + (addr - base). What is between them is left alone. All
 * in one call: at most MEMORY_SPREAD bytes.
 */
#define MEMORY_SPREAD (1u << 20)
int memory_read_spread(struct memory *m, const struct rights_range *r, size_t cnt, uint64_t base, void *out, size_t *unreadable);

#endif
