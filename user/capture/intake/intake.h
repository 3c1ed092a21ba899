/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake: ring bytes in, decoded records out, in ring order. It is given descriptors of maps (queue.h) and knows neither
 * probes nor processes. The sender is our own BPF code, but sizes are checked anyway.
 *
 * Order: allocations are reserved at the function's return, before the caller has the pointer; frees at its entry,
 * before the address can be reused. One ring keeps the order of reservation, so the records of each address are
 * causally ordered. realloc is the exception: see enter_ns in event.h.
 */
#ifndef ALYS_INTAKE_H
#define ALYS_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "intake/queue.h"

/* The process as BPF knows it. */
struct intake_who {
	uint32_t tgid, tid;
	uint64_t time_ns;
	uint8_t subject; /* enum subject */
	uint8_t held;    /* the thread waits until the note has been handled; its ring of requests, 0 = it does not wait */
};

struct intake_stack {
	struct intake_who who;
	uint64_t hash;
	uint32_t end;    /* enum stack_end */
	uint32_t memory; /* of a page's first touch or a mapping: ALYS_MEMORY_*; else 0 */
	uint32_t n;
	const uint64_t *ips;
};

/* Pages that left the resident set or mappings that went, or lie elsewhere now (moved). */
struct intake_range {
	struct intake_who who;
	uint64_t start, end;
	bool moved;
	uint64_t to;
	uint64_t enter_ns; /* of mappings: when the call began */
};

/* Terms of an Erlang VM, see struct alys_ev_named. */
struct intake_name {
	struct intake_who who;
	uint64_t process;
	uint64_t registered, module, function, arity;
};

/* Phase of a collection: marking done (world stopped); over. */
enum intake_phase { INTAKE_GC_MARKED, INTAKE_GC_DONE };

struct intake_collection {
	struct intake_who who; /* the thread that triggered it; time of the phase */
	enum intake_phase phase;
	uint32_t gc_no;
	uint64_t serial;              /* number of collections started in this process so far */
	uint64_t begun_ns, marked_ns; /* 0 = unknown */
	uint64_t stack_hash;
	bool idle; /* DONE: the mark reader was not woken, as no sampled object can have died */
};

/* MAPPED: the dynamic linker has loaded or unloaded libraries, or is about to. USED: before an EXIT, with windows. */
enum intake_note { INTAKE_EXEC, INTAKE_EXIT, INTAKE_FORK, INTAKE_MISS, INTAKE_OOM, INTAKE_MAPPED, INTAKE_USED };

struct intake_ops {
	void *ctx;
	/* event's proc and stack are 0: `who` and `stack_hash` identify them */
	void (*on_event)(void *ctx, const struct intake_who *who, uint64_t stack_hash, struct event *e);
	void (*on_stack)(void *ctx, const struct intake_stack *s);
	void (*on_collection)(void *ctx, const struct intake_collection *c);
	void (*on_range)(void *ctx, const struct intake_range *r); /* NULL: none come */
	void (*on_name)(void *ctx, const struct intake_name *n);   /* NULL: likewise */
	/* other: child's tgid of a fork, the address of a miss, the OOM killer's victim, ns of CPU time used */
	void (*on_note)(void *ctx, const struct intake_who *who, enum intake_note note, uint64_t other);
};

struct intake;

/* Skipped records: shorter than their header says, or of unknown kind. */
struct intake_counts {
	uint64_t bad, unknown;
};

/* room: bytes of records that may wait outside the ring, see queue.h. */
struct intake *intake_new(const struct queue_source *from, uint64_t room, const struct intake_ops *ops, struct err *err);
void intake_free(struct intake *in);
int intake_epoll_fd(const struct intake *in);
/* A busy target fills the ring as fast as it is read: signals and timers must be served in between. */
#define INTAKE_DRAIN_MAX 32768
/*
 * Reads what was sent, up to a limit of records. Returns the number, 0 if there was nothing; below the limit, all has
 * been read.
 */
long intake_drain(struct intake *in);
struct intake_counts intake_counts(const struct intake *in);
/* Drops records that an earlier reader has left. Before the first intake_drain, and when nobody is writing. */
void intake_reset(struct intake *in);
/* Unread bytes, in the ring and outside. */
uint64_t intake_backlog(const struct intake *in);
/* For the reader of the small ring of collections: false if the bytes are not such a record. */
bool intake_collection_of(const void *data, size_t size, struct intake_collection *out, bool *over);

#endif
