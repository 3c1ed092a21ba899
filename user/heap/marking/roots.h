/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/roots: where the collector begins to mark: writable data of the program and its libraries, the
 * stacks of threads from their stack pointers on, registers. In: what is mapped, what is known of the
 * threads. Out: ranges and a copy of what they hold.
 *
 * Not a range at first is the stack of a fiber that does not run: whoever holds its two ends owns it
 * (Crystal's Fiber object does), and it counts when its owner is reached. Stacks without an owner wait in
 * a pool to be used again, and hold only remains. Memory of malloc and of other threads' thread-local
 * variables is no root, as it is none for the collector.
 */
#ifndef ALYS_MARKING_ROOTS_H
#define ALYS_MARKING_ROOTS_H

#include "boehm/space.h"
#include "boehm/words.h"

enum root_kind { ROOT_GLOBAL, ROOT_STACK, ROOT_FIBER, ROOT_REGISTERS, ROOT_UNCOLLECTABLE, ROOT_KIND_CNT };
const char *root_kind_name(enum root_kind kind); /* "global", "stack", ... */

struct root_thread {
	uint32_t tid;
	uint64_t sp;     /* 0 = not known: it was running */
	uint64_t bottom; /* where its stack ends, 0 = with its mapping */
	bool marker;     /* the collector's own, which it never scans */
	uint64_t registers[16];
	uint32_t registers_cnt;
};

struct root_range {
	enum root_kind kind;
	uint32_t tid;        /* of a stack or registers; 0 = of no running thread, or not known which */
	uint64_t start, end; /* addresses of whole words; registers: 0 and their size */
	uint64_t at;         /* in bytes */
	bool waits;          /* a stack that only its owner makes a root; start: the lowest of its owners' tops */
};

struct roots {
	struct root_range *ranges; /* those of stacks that wait come last, by address */
	size_t ranges_cnt, ranges_cap;
	size_t waiting; /* first of them */
	uint8_t *bytes;
	uint64_t bytes_cnt;
	size_t unreadable;
	uint32_t unknown_stacks; /* threads whose stack pointer was not known: stacks without owner are roots then */
	uint32_t idle_stacks;    /* left out: nobody owns them */
};

/* No pointers of the program's: the collector's own variables. */
struct root_exclude {
	uint64_t start, end;
};

struct root_plan {
	const struct space *space;
	const struct root_thread *threads;
	size_t threads_cnt;
	const struct root_exclude *excludes;
	size_t excludes_cnt;
	uint64_t max; /* bytes */
};

/* Which ranges there are. -ENOMEM. */
int roots_begin(struct roots *r, const struct root_plan *plan);
/*
 * Leaves of stacks that wait what is above their owners' tops, so that little has to be copied, and
 * copies all ranges. 0, or -ESRCH, -EPERM, -ENOMEM, -EFBIG: more than max bytes, -ETIMEDOUT.
 */
int roots_copy(struct roots *r, struct memory *m, const struct root_plan *plan, const struct words *w, const struct boehm_heap *h,
	       uint64_t deadline_ns);
void roots_free(struct roots *r);

/*
 * An object that holds two addresses of one waiting stack owns what is between them. n words -> the
 * range, NULL: none; *top and *bottom are the lowest and the highest of these addresses.
 */
const struct root_range *roots_owned(const struct roots *r, const uint64_t *words, size_t n, uint64_t *top, uint64_t *bottom);

#endif
