/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake: ring bytes in, decoded records out, in ring order. Is given the ring's map descriptor;
 * knows neither probes nor processes. The other side is our own BPF, but sizes are checked all the same.
 *
 * Order: allocations are reserved at the function's return, before the caller has the pointer; frees
 * at its entry, before the address can be handed out again. One ring keeps reserve order, so per
 * address the records are causal. realloc is the exception: see enter_ns in event.h.
 */
#ifndef ALYS_INTAKE_H
#define ALYS_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"

/* Who: the process as BPF knows it. */
struct intake_who {
	uint32_t tgid, tid;
	uint64_t time_ns;
	uint16_t held; /* the thread waits until the note has been dealt with, called for by this number; 0 = it does not */
};

struct intake_stack {
	struct intake_who who;
	uint64_t hash;
	uint32_t end; /* enum stack_end */
	uint32_t n;
	const uint64_t *ips;
};

/* Phase of a collection: all is marked (world stopped); over. */
enum intake_phase { INTAKE_GC_MARKED, INTAKE_GC_DONE };

struct intake_collection {
	struct intake_who who; /* the thread that triggered it; time of the phase */
	enum intake_phase phase;
	uint32_t gc_no;
	uint64_t serial;              /* how many had begun in this process when it did */
	uint64_t begun_ns, marked_ns; /* 0 = not seen */
	uint64_t stack_hash;
};

/* MAPPED: the dynamic linker has loaded libraries, or unloaded some, or is about to. */
enum intake_note { INTAKE_EXEC, INTAKE_EXIT, INTAKE_FORK, INTAKE_MISS, INTAKE_OOM, INTAKE_MAPPED };

struct intake_ops {
	void *ctx;
	/* event's proc and stack are 0: `who` and `stack_hash` say them in the kernel's words */
	void (*on_event)(void *ctx, const struct intake_who *who, uint64_t stack_hash, struct event *e);
	void (*on_stack)(void *ctx, const struct intake_stack *s);
	void (*on_collection)(void *ctx, const struct intake_collection *c);
	/* other: child's tgid of a fork, the address of a miss, whom the kernel kills for want of memory */
	void (*on_note)(void *ctx, const struct intake_who *who, enum intake_note note, uint64_t other);
};

struct intake;

/* Records that were passed over: smaller than they say, or of no known kind. */
struct intake_counts {
	uint64_t bad, unknown;
};

struct intake *intake_new(int ring_map_fd, const struct intake_ops *ops, struct err *err);
void intake_free(struct intake *in);
int intake_epoll_fd(const struct intake *in);
/* A busy target refills the ring as fast as it is read: signals and timers must get their turn. */
#define INTAKE_DRAIN_MAX 32768
/*
 * What is in the ring now, so many records at most. Returns how many, 0 when the ring was empty; of fewer than
 * the most they are all that had been in it.
 */
long intake_drain(struct intake *in);
struct intake_counts intake_counts(const struct intake *in);
/* Bytes that wait in the ring now. */
uint64_t intake_backlog(const struct intake *in);
/* For who reads the small ring of collections: false when the bytes are no such record. */
bool intake_collection_of(const void *data, size_t size, struct intake_collection *out, bool *over);

#endif
