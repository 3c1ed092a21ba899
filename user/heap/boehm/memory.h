/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/memory: reads the memory of another process (process_vm_readv, directly or through the broker), which is
 * neither stopped nor written to. Data is a snapshot of each piece at its time, and untrusted. A copy can replace the
 * process (source): marking/heap_copy, tests.
 */
#ifndef ALYS_BOEHM_MEMORY_H
#define ALYS_BOEHM_MEMORY_H

#include <stdbool.h>
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
	struct memory_ahead *ahead;         /* NULL: nothing is read ahead */
	uint64_t reads, bytes;              /* cost so far: system calls, bytes requested */
};

/*
 * Successive readings of a process mostly read the same ranges, some found through others. Each read may cost a message to
 * another process, so what the last reading read is read ahead in one call when the next begins, in the same order; only ranges
 * that are new take a call of their own. Zeroed: nothing was read yet.
 */
#define MEMORY_AHEAD_RANGES 64
#define MEMORY_AHEAD_BYTES (128u << 10)
struct memory_ahead {
	uint32_t tgid;
	struct rights_range known[MEMORY_AHEAD_RANGES], used[MEMORY_AHEAD_RANGES]; /* read ahead; by this reading so far */
	size_t known_cnt, used_cnt, used_bytes;
	bool many; /* this reading needs more than fits */
	uint8_t *bytes;
};

/* Begins a reading of m with what the last one with the same `a` read. Borrows a, until the reading is over. Not of a copy. */
void memory_ahead_begin(struct memory *m, struct memory_ahead *a);
void memory_ahead_free(struct memory_ahead *a);

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
