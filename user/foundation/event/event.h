/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event: what flows through the program, whether from the ring buffer or from a file. Header only. Ids are one-field
 * structs, so that a stack id cannot be passed where a process id is expected; 0 = none.
 */
#ifndef ALYS_EVENT_H
#define ALYS_EVENT_H

#include <stdint.h>

struct proc_id {
	uint32_t n;
}; /* tgid + start time + exec generation, and what its events are about: one heap */
struct module_id {
	uint32_t n;
}; /* one file on disk */
struct map_id {
	uint32_t n;
}; /* one module mapped into one process; 0 = the address is in no known file */
struct stack_id {
	uint32_t n;
}; /* one distinct call stack of one process */

/* What the events of a heap are about. Stored on disk as numbers. */
enum subject { SUBJECT_ALLOCATIONS, SUBJECT_PAGES, SUBJECT_MAPPINGS, SUBJECT_CNT };

/* Stored on disk as numbers: append only, do not reuse. */
enum event_kind {
	EVENT_ALLOC = 1,
	EVENT_REALLOC = 2,
	EVENT_FREE = 3,
	EVENT_EXEC = 4, /* `proc` executed another program: its old heap is gone */
	EVENT_EXIT = 5, /* `proc` ended; what was live then is live "at exit", not "leaked" */
	EVENT_RATE = 6, /* from here on `interval` applies to `proc` (0 = all processes) */
	EVENT_LOSS = 7, /* `size` events of kind `lost_kind` were lost shortly before this time */
	EVENT_GC = 8,   /* a collection, from enter_ns to time_ns; its frees come before or after it */
	EVENT_FORK = 9, /* `proc` starts with a copy of the heap of the process whose proc_id is in old_addr */
	/*
	 * A window of old_addr ns from time_ns on: its samples follow and stand for `size` bytes by time; group:
	 * `batch`. enter_ns: bytes that all windows so far stand for by the process' own counter; 0 = known at the end.
	 * With EVENT_F_BY_CPU these are nanoseconds of the process' own CPU time instead of bytes, `size` has a sign,
	 * and `addr` is by how much it may be off because the cost of a probe is not known exactly. span: microseconds
	 * up to its end for which it stands, itself included. interval: while the recording runs, the standard error of
	 * rows that no window met so far, as a multiple of their estimate, in units of 1 / WINDOW_UNMET_ONE.
	 */
	EVENT_WINDOW = 10,
};

#define WINDOW_UNMET_ONE 1000

enum event_flag {
	EVENT_F_ATOMIC = 1,         /* pointer-free object of a collected heap (kind 0 of GC_malloc_kind) */
	EVENT_F_GC = 2,             /* gc_no is valid */
	EVENT_F_BY_GC = 4,          /* freed by the collector, not by a call; time_ns is the end of the collection */
	EVENT_F_CARRIED = 8,        /* no call: a block that was there before the trace, live at time_ns; allocated at enter_ns */
	EVENT_F_OUT_OF_MEMORY = 16, /* an exit: the process was killed by the OOM killer */
	EVENT_F_STATUS = 32,        /* an exit: size is the wait status (wait(2)) */
	EVENT_F_UNFOLLOWED = 32,    /* an allocation: how it ends is not recorded */
	/*
	 * An allocation: all that an Erlang process allocated since its last collection, at the stack that filled its
	 * heap. Of a sampled one, old_addr is a hash of those before it in that process.
	 */
	EVENT_F_HEAPFUL = 16,
	EVENT_F_WINDOW = 64,  /* sampled in the window announced last; its interval covers all that the window stands for */
	EVENT_F_BY_CPU = 128, /* a window, or a sample of one, that stands for CPU time instead of counted bytes */
};

/*
 * The address of a heap-full names the Erlang process: <0.NUMBER.SERIAL> is SERIAL << 32 | NUMBER << 4 | 3. Where the recorder did
 * not know its pid, it is the address of the VM's struct Process, whose low bits are others.
 */
#define EVENT_PID_TAG 3
#define EVENT_PID_TAG_BITS 4
#define EVENT_PID_NUMBER_BITS 28

struct event {
	uint8_t kind;  /* enum event_kind */
	uint8_t flags; /* enum event_flag, or-ed */
	uint8_t lost_kind;
	struct proc_id proc;
	uint32_t tid;
	struct stack_id stack;
	uint64_t time_ns;  /* CLOCK_MONOTONIC; end of a call, for a free its begin */
	uint64_t addr;     /* the block; for realloc the new one, 0 if realloc(p, 0) freed it */
	uint64_t old_addr; /* realloc: the old block, 0 = none; see FORK and HEAPFUL */
	uint64_t size;     /* bytes asked for */
	uint64_t enter_ns; /* realloc: begin of the call (old_addr may be reused before time_ns); see CARRIED */
	uint64_t interval; /* sampling interval in force, 0 = every call is recorded */
	uint32_t batch;    /* blocks that this one stands for before sampling (a refill); 0 = only itself */
	uint32_t span;     /* bytes counted for sampling, 0 = size */
	uint32_t gc_no;    /* collections completed before this allocation (mod 2^32); for a collection its own number */
	struct {
		uint64_t pause_ns;          /* from its start until marking was done; the world is stopped for nearly all of it */
		uint64_t heap_sz;           /* heap obtained from the system; 0 = marks were not read */
		uint64_t live_sz;           /* in marked objects of the whole heap */
		uint64_t dead_cnt, dead_sz; /* recorded blocks that it freed */
	} gc;                               /* EVENT_GC only */
};

#endif
