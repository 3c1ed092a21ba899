/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/heap: one reading of all block headers and marks of a collected heap, while its program runs. In: a layout.
 * Out: blocks by address, and one mark per object: "reached by cycle gc_no". An object allocated after that cycle is
 * not marked either; the gc_no of its allocation distinguishes it from a dead one.
 *
 * Marks do not change between the end of a cycle and the start of the next. A reading belongs to one cycle if the
 * counter is the same before and after it, and the block whose marks the next cycle would clear first has not changed;
 * otherwise it is repeated (retries), and `torn` if no attempt succeeded.
 *
 * Reads no objects. All input is hostile: counts, sizes and pointers are checked, lists are bounded.
 */
#ifndef ALYS_BOEHM_HEAP_H
#define ALYS_BOEHM_HEAP_H

#include "base/err.h"
#include "boehm/layout.h"
#include "boehm/memory.h"

enum heap_kind {                  /* of objects; higher numbers are kinds defined by the program */
		 HEAP_ATOMIC = 0, /* holds no pointers */
		 HEAP_NORMAL = 1,
		 HEAP_UNCOLLECTABLE = 2, /* live until freed, always marked */
		 HEAP_ATOMIC_UNCOLLECTABLE = 3,
};

struct heap_block { /* in use */
	uint64_t addr;
	uint64_t bytes;          /* of the block: 4096, or the size of a large object */
	uint64_t size;           /* object size as rounded up by the collector */
	uint64_t header;         /* address of its header */
	uint32_t objects;        /* 1 = a large object or one that fills more than half a block */
	uint32_t live;           /* number of marked objects */
	size_t marks;            /* index of its first object in boehm_heap.marks */
	uint32_t n_marks;        /* from its header; only approximate */
	uint16_t last_reclaimed; /* cycle after which it was swept, low 16 bits */
	uint8_t kind, flags;
};

struct heap_gap { /* free memory held by the collector */
	uint64_t addr, bytes;
	bool unmapped; /* returned to the system */
};

struct boehm_heap {
	struct heap_block *blocks; /* by address, not overlapping */
	size_t blocks_cnt, blocks_cap;
	uint8_t *marks; /* one byte per object, 1 = marked, in the order of blocks */
	size_t marks_cnt, marks_cap;
	struct heap_gap *gaps;
	size_t gaps_cnt, gaps_cap;
	uint32_t *pages; /* page - first_page -> block + 1; NULL: address range too large, use binary search */
	uint64_t first_page, pages_cnt;
	uint64_t gc_no;      /* cycle of the marks; 0 = none yet */
	uint64_t heap_bytes; /* whole heap: blocks, free and unmapped */
	uint64_t free_bytes; /* in gaps, mapped */
	uint64_t unmapped_bytes;
	uint64_t listed_cnt, listed_bytes; /* marked members of threads' free lists; see boehm_unlist */
	uint64_t read_ns;                  /* CLOCK_MONOTONIC, start of the reading */
	uint64_t took_ns;
	uint32_t retries;
	uint32_t bad_headers; /* skipped: implausible headers */
	bool torn;            /* marks are from more than one cycle */
	uint64_t *asked;      /* not NULL: only blocks that contain these addresses (ascending) were read */
	size_t asked_cnt;
	bool unnumbered; /* no cycle counter was found: gc_no is that of the latest sweep, 16 bits */
};

/* 0, or -ESRCH, -EPERM, -ENOMEM, -EFAULT (the index cannot be read). Then boehm_heap_free. */
int boehm_heap_read(struct memory *m, const struct layout *l, struct boehm_heap *out, struct err *err);
/* The same without waiting for the end of a collection: for a stopped process, or for blocks only. */
int boehm_heap_read_now(struct memory *m, const struct layout *l, struct boehm_heap *out, struct err *err);
/*
 * The same where the caller knows that no collection began meanwhile: it does not find out, and reads less for it.
 * asked not NULL: only the blocks that contain these addresses (ascending; malloc'ed and taken over, even on failure), and
 * not how large the heap is.
 */
int boehm_heap_read_marks(struct memory *m, const struct layout *l, uint64_t *asked, size_t cnt, struct boehm_heap *out,
			  struct err *err);
/*
 * Checks blocks and marks that another process read, and indexes them. 0, -EBADMSG if no heap has such ones, -ENOMEM.
 * After 0 all functions below stay within bounds.
 */
int boehm_heap_adopt(struct boehm_heap *h);
/* Does the reading cover this address? */
bool boehm_heap_covers(const struct boehm_heap *h, uint64_t addr);
void boehm_heap_free(struct boehm_heap *h);

struct heap_object {
	uint64_t base, size;
	size_t block;   /* in blocks */
	uint32_t index; /* in its block */
	uint8_t kind;
	bool marked;
};

/* Interior pointers count. False: no object of a block in use there. */
bool boehm_heap_find(const struct boehm_heap *h, uint64_t addr, struct heap_object *out);
/* The index-th object of a block; both must be in range. */
struct heap_object boehm_heap_object(const struct boehm_heap *h, size_t block, uint32_t index);
/* The current GC_gc_no; -ENOENT if its address is unknown. */
int boehm_gc_no(struct memory *m, const struct layout *l, uint64_t *out);
/*
 * Threads keep lists of free objects, which a cycle marks so that no other thread gets them. Clears the marks of likely
 * members (listed_cnt, listed_bytes): the first word points to an object of the same size and kind and, if the kind
 * holds pointers, the rest is zero. What is still marked afterwards is live for all counts.
 *
 * *words, freed by the caller: the first eight bytes of each marked object, in the order of marks (0: not marked, or
 * unreadable); the lower half is Crystal's type id. 0, or -ESRCH, -EPERM, -ENOMEM (*words is NULL).
 */
int boehm_unlist(struct memory *m, struct boehm_heap *h, uint64_t **words);

#endif
