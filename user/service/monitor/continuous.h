/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/continuous: a recording without an end: switched on and off, over processes
 * that come and go, in bounded memory. In: the kernel's records. Out: what each process holds, as numbers,
 * as profiles, and as traces into files it is given. It opens no sockets and no files. One thread, the caller's.
 */
#ifndef ALYS_MONITOR_CONTINUOUS_H
#define ALYS_MONITOR_CONTINUOUS_H

#include <poll.h>

#include "format/skip.h"
#include "monitor/limits.h"
#include "monitor/profiles.h"
#include "monitor/traces.h"
#include "recording/options.h"
#include "target/select.h"

struct continuous;

struct continuous_process {
	uint32_t tgid;
	struct proc_id proc;
	const char *comm, *exe;
	uint64_t start_ns;     /* CLOCK_MONOTONIC */
	double live, rate;     /* bytes, bytes a second; estimates */
	double live_error;     /* its standard error */
	double live_below;     /* nothing of it was sampled: it is below that with 95 % confidence; 0 = something was */
	uint64_t events, lost; /* lost: by the probes' programs, which know whose it is */
	char lost_by[160];     /* by which stages */
	const double *history;
	size_t history_cnt;
	double history_step_s; /* between its points */
	uint64_t resident;     /* bytes in memory (RSS); 0 = not known */
	uint64_t begun_ns;     /* CLOCK_MONOTONIC: since when all this is counted */
};

struct continuous_status {
	bool on;
	bool rescans; /* the kernel tells nothing of new mappings, so they are looked for */
	uint64_t interval, interval_wanted;
	const char *reason; /* why these differ, or stacks are refused; NULL */
	size_t processes;
	uint64_t ended[ENDING_CNT];    /* so far; an exec ends a program, not the process */
	size_t files;                  /* with probes */
	uint64_t examined;             /* files so far that were searched for allocators */
	uint64_t given_up, to_examine; /* files: of these, see examine/examination.h; that wait for it */
	size_t closed_files;           /* mapped, but not to be opened */
	uint32_t links, sites;
	double cpu_s;                          /* our own and our workers', since the start */
	uint64_t memory, memory_max;           /* of all processes and in the kernel */
	uint64_t memory_kernel, memory_set_by; /* the part in the kernel; set by for profiles */
	double overhead;                       /* percent of all processors: probes and ourselves */
	uint64_t refused_stacks, refused_processes, thinned, workers_failed, unseen;
	size_t waiting;            /* profiles whose names are looked for */
	double recording_s, age_s; /* switched on so long, of so long; since the options were read */
};

struct continuous_options {
	struct record_options record; /* of which these count: pids, follow, interval, allocators, ring_sz ... */
	struct select select;
	uint64_t max_memory;
	double max_overhead;
	double idle_stacks; /* seconds; see heap_forget_idle */
	struct skip skip;   /* frames at the leaf that profiles do not show */
};

struct continuous_ops {
	void *ctx;
	/* A process ends, and its heap goes when this returns: the last moment to ask for a profile. */
	void (*ending)(void *ctx, const struct continuous_process *p, enum ending why);
};

/* Opens everything and stays off. Borrows the options. */
struct continuous *continuous_new(const struct continuous_options *o, const struct continuous_ops *ops, struct err *err);
void continuous_free(struct continuous *c);
/* Could a process without rights go on with it, if another one lends it some (access/rights)? */
bool continuous_can_split(const struct continuous *c);
/* From here on an empty model, over the processes that are there now. */
int continuous_on(struct continuous *c, struct err *err);
/* No probe stays; what is known stays readable. */
void continuous_off(struct continuous *c);
/* Takes one more process in, or leaves it out from now on. -ESRCH when there is no such. */
int continuous_add(struct continuous *c, uint32_t tgid, struct err *err);
int continuous_remove(struct continuous *c, uint32_t tgid, struct err *err);
void continuous_set_interval(struct continuous *c, uint64_t interval);

#define CONTINUOUS_FDS 5
/* What to poll for; how many. */
size_t continuous_fds(const struct continuous *c, struct pollfd *out);
/* Does what there is to do; how many ms it may be left alone at most. -ENOMEM: the recording is off now. */
int continuous_work(struct continuous *c, struct err *err);

/* Calls fn for each process until it returns non-zero, and returns that. */
int continuous_each(const struct continuous *c, int (*fn)(void *ctx, const struct continuous_process *p), void *ctx);
/* The process as it is traced now; 0 when it is not. */
struct proc_id continuous_find(const struct continuous *c, uint32_t tgid);
/* Whether it is that process which has the number now: it may have ended, and what is known of it be there yet. */
bool continuous_is_there(const struct continuous *c, uint32_t tgid);
int continuous_profile(struct continuous *c, const struct profile_request *r, struct err *err);
/* As profiles_forget. */
void continuous_forget(struct continuous *c, const void *caller);
/* Answers what waits for names with those that are there; files wait for theirs a second. */
void continuous_flush(struct continuous *c);
/*
 * From here on events go into this new file, too; -1: into none. Takes fd. The file before is completed when
 * its names are there. When it cannot begin, the file before goes on and end->done will not be called.
 */
int continuous_record(struct continuous *c, int fd, const struct trace_end *end, struct err *err);
/* Events in the file so far, and the bytes by which it grew since it began. */
uint64_t continuous_recorded(const struct continuous *c, uint64_t *bytes);
struct heap_mark *continuous_mark(struct continuous *c, struct proc_id proc);
void continuous_status(const struct continuous *c, struct continuous_status *out);
/* What is to be thought of what collected heaps have in use, as of live_liveness; "" when none is traced. */
void continuous_liveness(struct continuous *c, char *out, size_t cap);
/* The ledger, as of now; borrowed. */
const struct catalog *continuous_ledger(struct continuous *c);

#endif
