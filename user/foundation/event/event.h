/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event: what flows through the program, from the ring buffer or from a file alike. Header only.
 * Ids are one-field structs, so that a stack id cannot be passed where a process id is due; 0 = none.
 */
#ifndef ALYS_EVENT_H
#define ALYS_EVENT_H

#include <stdint.h>

struct proc_id {
	uint32_t n;
}; /* tgid + start time + exec generation: one heap */
struct module_id {
	uint32_t n;
}; /* one file on disk */
struct map_id {
	uint32_t n;
}; /* one module mapped into one process; 0 = address in no known file */
struct stack_id {
	uint32_t n;
}; /* one distinct call stack of one process */

/* On disk as numbers: append only, holes stay. */
enum event_kind {
	EVENT_ALLOC = 1,
	EVENT_REALLOC = 2,
	EVENT_FREE = 3,
	EVENT_EXEC = 4, /* the old heap of `proc` is gone: the process became another program */
	EVENT_EXIT = 5, /* `proc` ended; what lived then lived "at exit", which is not "leaked" */
	EVENT_RATE = 6, /* from here on `interval` is in force for `proc` (0 = all processes) */
	EVENT_LOSS = 7, /* `size` events of kind `lost_kind` were lost shortly before this time */
	EVENT_GC = 8,   /* a collection, from enter_ns to time_ns; its frees follow or came before */
	EVENT_FORK = 9, /* `proc` begins with a copy of the heap of the process whose proc_id is in old_addr */
	EVENT_WINDOW =
		10, /* a window of old_addr ns from time_ns on: samples of it follow, and stand for `size` ns; its group is `batch` */
};

enum event_flag {
	EVENT_F_ATOMIC = 1,         /* pointer-free object of a collector (kind 0 of GC_malloc_kind) */
	EVENT_F_GC = 2,             /* has gc_no */
	EVENT_F_BY_GC = 4,          /* a free by the collector, not by a call; time_ns is when the collection was over */
	EVENT_F_CARRIED = 8,        /* no call: a block that lived when the trace began, at time_ns; allocated at enter_ns */
	EVENT_F_OUT_OF_MEMORY = 16, /* an exit: the kernel ended it for want of memory */
	EVENT_F_STATUS = 32,        /* an exit: size is its status as wait(2) has it */
	EVENT_F_WINDOW = 64, /* sampled in the window that was told of last; its interval is for all that the window stands for */
};

struct event {
	uint8_t kind;  /* enum event_kind */
	uint8_t flags; /* enum event_flag, or-ed */
	uint8_t lost_kind;
	struct proc_id proc;
	uint32_t tid;
	struct stack_id stack;
	uint64_t time_ns;  /* CLOCK_MONOTONIC; a call's end, a free's begin */
	uint64_t addr;     /* the block; for realloc the new one, 0 when realloc(p, 0) freed it */
	uint64_t old_addr; /* realloc: the block that went in, 0 = none; see FORK */
	uint64_t size;     /* bytes asked for */
	uint64_t enter_ns; /* realloc: when the call began (old_addr may be handed out again before time_ns); see CARRIED */
	uint64_t interval; /* bytes between samples in force, 0 = every call recorded */
	uint32_t batch;    /* blocks that this one stands for before thinning: a refill's; 0 = itself */
	uint32_t span;     /* bytes by which it was sampled, 0 = size */
	uint32_t gc_no;    /* collections finished before this allocation (mod 2^32); a collection's own number */
	struct {
		uint64_t pause_ns;          /* from its begin until all was marked: nearly all of it the world stands still */
		uint64_t heap_sz;           /* all that the collector has of the system; 0 = marks were not read */
		uint64_t live_sz;           /* in marked objects of the whole heap */
		uint64_t dead_cnt, dead_sz; /* recorded blocks that it reclaimed */
	} gc;                               /* EVENT_GC only */
};

#endif
