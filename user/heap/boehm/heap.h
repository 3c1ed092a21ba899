/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/heap: one reading of all block headers and marks of a collected heap, while its program runs.
 * In: a layout. Out: blocks by address, a mark an object: "reached by cycle gc_no". An object that was
 * allocated since that cycle is not marked either: gc_no of its birth tells it from a dead one.
 *
 * Marks are untouched from the end of a cycle to the begin of the next. A reading is of one cycle when
 * the counter is the same before and after it, and when the block whose marks the next cycle would
 * clear first has not changed; else it is done again (retries), and torn when it never came out.
 *
 * Reads no objects. All it reads is hostile: counts, sizes and pointers are checked, lists have ends.
 */
#ifndef ALYS_BOEHM_HEAP_H
#define ALYS_BOEHM_HEAP_H

#include "base/err.h"
#include "boehm/layout.h"
#include "boehm/memory.h"

enum heap_kind {                  /* of objects; higher numbers are the program's own kinds */
		 HEAP_ATOMIC = 0, /* holds no pointers */
		 HEAP_NORMAL = 1,
		 HEAP_UNCOLLECTABLE = 2, /* alive until freed, always marked */
		 HEAP_ATOMIC_UNCOLLECTABLE = 3,
};

struct heap_block { /* in use */
	uint64_t addr;
	uint64_t bytes;          /* of the block: 4096, or what a large object takes */
	uint64_t size;           /* of an object, as the collector rounded it */
	uint64_t header;         /* address of its header */
	uint32_t objects;        /* 1 = a large object or one that fills more than half a block */
	uint32_t live;           /* of them marked */
	size_t marks;            /* its first object's place in boehm_heap.marks */
	uint32_t n_marks;        /* as its header says, which is only about right */
	uint16_t last_reclaimed; /* cycle after which it was swept, low 16 bits */
	uint8_t kind, flags;
};

struct heap_gap { /* free memory of the collector */
	uint64_t addr, bytes;
	bool unmapped; /* given back to the system */
};

struct boehm_heap {
	struct heap_block *blocks; /* by address, not overlapping */
	size_t blocks_cnt, blocks_cap;
	uint8_t *marks; /* one byte an object, 1 = marked, in the order of blocks */
	size_t marks_cnt, marks_cap;
	struct heap_gap *gaps;
	size_t gaps_cnt, gaps_cap;
	uint32_t *pages; /* page of first_page -> block + 1; NULL: too far apart, search */
	uint64_t first_page, pages_cnt;
	uint64_t gc_no;      /* cycle that made the marks; 0 = none yet */
	uint64_t heap_bytes; /* all the collector has: blocks, free and unmapped */
	uint64_t free_bytes; /* in gaps, mapped */
	uint64_t unmapped_bytes;
	uint64_t listed_cnt, listed_bytes; /* marked as free ones of threads; see boehm_unlist */
	uint64_t read_ns;                  /* CLOCK_MONOTONIC, begin of the reading */
	uint64_t took_ns;
	uint32_t retries;
	uint32_t bad_headers; /* left out: did not look like headers of blocks */
	bool torn;            /* marks are not of one cycle */
	uint64_t *asked;      /* not NULL: only blocks that hold these addresses (ascending) were read */
	size_t asked_cnt;
	bool unnumbered; /* no cycle counter was found: gc_no is the latest sweep's, 16 bits */
};

/* 0, or -ESRCH, -EPERM, -ENOMEM, -EFAULT (the index cannot be read). Then boehm_heap_free. */
int boehm_heap_read(struct memory *m, const struct layout *l, struct boehm_heap *out, struct err *err);
/* The same without waiting for the end of a collection: for a process that stands still, or for blocks alone. */
int boehm_heap_read_now(struct memory *m, const struct layout *l, struct boehm_heap *out, struct err *err);
/*
 * The same for the blocks that hold these addresses alone (ascending; malloc'ed and taken over, also when it fails): what
 * the heap has besides is not told, nor whether a collection went on.
 */
int boehm_heap_read_some(struct memory *m, const struct layout *l, uint64_t *asked, size_t cnt, struct boehm_heap *out,
			 struct err *err);
/* Does the reading tell of this address? */
bool boehm_heap_covers(const struct boehm_heap *h, uint64_t addr);
void boehm_heap_free(struct boehm_heap *h);

struct heap_object {
	uint64_t base, size;
	size_t block;   /* in blocks */
	uint32_t index; /* in its block */
	uint8_t kind;
	bool marked;
};

/* Interior pointers too. False: no object of a block in use there. */
bool boehm_heap_find(const struct boehm_heap *h, uint64_t addr, struct heap_object *out);
/* The index-th object of a block; both must be in range. */
struct heap_object boehm_heap_object(const struct boehm_heap *h, size_t block, uint32_t index);
/* GC_gc_no at this moment; -ENOENT when where it is is unknown. */
int boehm_gc_no(struct memory *m, const struct layout *l, uint64_t *out);
/*
 * Threads keep lists of free objects, which a cycle marks so that nobody else gets them: takes the marks off what
 * looks like members (listed_cnt, listed_bytes): the first word leads to an object of the same size and kind, and,
 * where the kind holds pointers, the rest is zero. What is marked then is what is live to all who count.
 *
 * *words, the caller's to free: the first eight bytes of each marked object, in the order of marks (0: not marked, or
 * could not be read); the lower half is Crystal's type id. 0, or -ESRCH, -EPERM, -ENOMEM (*words is NULL).
 */
int boehm_unlist(struct memory *m, struct boehm_heap *h, uint64_t **words);

#endif
