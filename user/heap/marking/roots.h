/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/roots: a heap's roots: writable data of the program and its libraries, the stacks of threads from
 * their stack pointers on, registers. In: mappings, facts about the threads. Out: ranges and a copy of their contents.
 *
 * The stack of a suspended fiber is not a root by itself: the object that holds its two ends owns it (Crystal's Fiber),
 * and it counts once its owner is reached. Stacks without an owner are in a pool for reuse and contain only stale data.
 * Memory of malloc and thread-local variables of other threads are not roots, as for the collector. Where there is none,
 * anonymous memory beside the heap counts, in which the thread-local variables of the main thread lie.
 */
#ifndef ALYS_MARKING_ROOTS_H
#define ALYS_MARKING_ROOTS_H

#include "boehm/space.h"
#include "boehm/words.h"

enum root_kind { ROOT_GLOBAL, ROOT_STACK, ROOT_FIBER, ROOT_REGISTERS, ROOT_UNCOLLECTABLE, ROOT_ANONYMOUS, ROOT_KIND_CNT };
const char *root_kind_name(enum root_kind kind); /* "global", "stack", ... */

struct root_thread {
	uint32_t tid;
	uint64_t sp;            /* 0 = unknown: it was running */
	uint64_t bottom;        /* where its stack ends, 0 = at the end of its mapping */
	bool marker;            /* the collector's own, which it does not scan */
	uint64_t registers[31]; /* aarch64 has so many */
	uint32_t registers_cnt;
};

struct root_range {
	enum root_kind kind;
	uint32_t tid;        /* of a stack or registers; 0 = no running thread, or unknown */
	uint64_t start, end; /* addresses of whole words; registers: 0 and their size */
	uint64_t at;         /* byte offset */
	bool waits;          /* a stack that is a root only through its owner; start: the lowest of its owners' tops */
};

struct roots {
	struct root_range *ranges; /* waiting stacks come last, by address */
	size_t ranges_cnt, ranges_cap;
	size_t waiting; /* index of the first of these */
	uint8_t *bytes;
	uint64_t bytes_cnt;
	size_t unreadable;
	uint32_t unknown_stacks; /* threads with unknown stack pointer: then stacks without an owner are roots */
	uint32_t idle_stacks;    /* left out: without an owner */
	uint64_t unsearched;     /* bytes of anonymous memory that were left out */
};

/* Not pointers of the program: the collector's own variables. */
struct root_exclude {
	uint64_t start, end;
};

#define ROOT_ANONYMOUS_MAX (16ull << 20) /* of one mapping; larger ones are left out */
#define ROOT_ANONYMOUS_TOTAL (128ull << 20)

struct root_plan {
	const struct space *space;
	const struct root_thread *threads;
	size_t threads_cnt;
	const struct root_exclude *excludes;
	size_t excludes_cnt;
	uint64_t max;                    /* bytes */
	const struct root_exclude *heap; /* without a collector: by address, without overlap; NULL = a collected heap */
	size_t heap_cnt;
};

/* Finds the ranges. -ENOMEM. */
int roots_begin(struct roots *r, const struct root_plan *plan);
/*
 * Cuts waiting stacks to the part above their owners' tops, so that little must be copied, and copies all ranges. Without a
 * collector w and h are empty. 0, or
 * -ESRCH, -EPERM, -ENOMEM, -EFBIG: more than max bytes, -ETIMEDOUT.
 */
int roots_copy(struct roots *r, struct memory *m, const struct root_plan *plan, const struct words *w, const struct boehm_heap *h,
	       uint64_t deadline_ns);
void roots_free(struct roots *r);

/*
 * An object that holds two addresses of one waiting stack owns the part between them. n words -> the range, NULL: none;
 * *top and *bottom are the lowest and the highest of these addresses.
 */
const struct root_range *roots_owned(const struct roots *r, const uint64_t *words, size_t n, uint64_t *top, uint64_t *bottom);

#endif
