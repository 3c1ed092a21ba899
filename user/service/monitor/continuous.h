/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/continuous: an endless recording: switched on and off, over processes that come and go, in bounded memory.
 * In: the kernel's records. Out: the state of each process as numbers, as profiles, and as traces into given files. It
 * opens no sockets and no files. Single-threaded.
 */
#ifndef ALYS_MONITOR_CONTINUOUS_H
#define ALYS_MONITOR_CONTINUOUS_H

#include <poll.h>

#include "format/skip.h"
#include "monitor/limits.h"
#include "monitor/profile_requests.h"
#include "monitor/traces.h"
#include "governor/windows.h"
#include "recording/options.h"
#include "target/select.h"

struct continuous;

struct heap_choice {
	struct proc_id proc; /* 0: all processes */
	uint8_t subject;     /* then of this subject: enum subject, 0 = the first one */
};

struct continuous_process {
	uint32_t tgid;
	struct proc_id proc;
	uint8_t subject; /* of the heap: enum subject, 0 = the first one */
	const char *comm, *exe;
	const char *attributes;       /* catalog/attributes.h */
	char build_id[BUILD_ID_TEXT]; /* of exe; "" = none, or not known yet */
	uint64_t start_ns;            /* CLOCK_MONOTONIC */
	double live, rate;            /* bytes, bytes per second; estimates */
	double live_error;            /* its standard error */
	double live_below;            /* nothing was sampled: it is below this with 95 % confidence; 0 = something was */
	uint64_t events, lost;        /* lost: by BPF, which knows the process */
	char lost_by[160];            /* the stages */
	const double *history;
	size_t history_cnt;
	double history_step_s; /* interval between its points */
	uint64_t resident;     /* bytes in memory (RSS); 0 = not known */
	uint64_t begun_ns;     /* CLOCK_MONOTONIC: start of counting */
};

struct continuous_status {
	bool on;
	bool rescans; /* the kernel does not report mappings: processes are polled */
	uint64_t interval, interval_wanted;
	enum limits_cause cause;
	size_t processes;
	uint64_t ended[ENDING_CNT];    /* so far; an exec ends a program, not the process */
	size_t files;                  /* probed */
	uint64_t examined;             /* files so far that were searched for allocators */
	uint64_t given_up, to_examine; /* files: incomplete ones, see examine/examination.h; waiting ones */
	size_t closed_files;           /* mapped, but could not be opened */
	uint32_t links, sites;
	double cpu_s;                          /* of all our processes, since the start */
	uint64_t memory, memory_max;           /* of all our processes and in the kernel */
	uint64_t memory_kernel, memory_set_by; /* the kernel's part; reserved for profiles */
	double overhead;                       /* percent of all CPUs: probes and ourselves */
	uint64_t refused_stacks, refused_processes, thinned, workers_failed, unseen;
	bool noted;    /* --allocator usdt: programs sample themselves */
	bool no_frees; /* --profile allocations: what is in use is known of collected heaps only */
	bool windowed; /* with --max-overhead, where the kernel allows it */
	struct windows_facts windows;
	size_t waiting;            /* profiles waiting for symbols */
	double recording_s, age_s; /* total time switched on, and since the options were read */
};

struct continuous_options {
	struct record_options record; /* used fields: pids, follow, interval, allocators, ring_sz ... */
	struct select select;
	uint64_t max_memory;
	double idle_stacks; /* seconds; see heap_forget_idle */
	struct skip skip;   /* leaf frames that profiles do not show */
};

struct continuous_ops {
	void *ctx;
	/* A process ends, and its heap is freed when this returns: the last chance to request a profile. */
	void (*ending)(void *ctx, const struct continuous_process *p, enum ending why);
};

/* Opens everything and stays switched off. Borrows the options. */
struct continuous *continuous_new(const struct continuous_options *o, const struct continuous_ops *ops, struct err *err);
void continuous_free(struct continuous *c);
/* Could an unprivileged process continue with it, through access/rights? */
bool continuous_can_split(const struct continuous *c);
/* Starts with an empty model, over the processes that exist now. */
int continuous_on(struct continuous *c, struct err *err);
/* Detaches all probes; data stays readable. */
void continuous_off(struct continuous *c);
/* Adds a process, or drops it. -ESRCH: no such process. */
int continuous_add(struct continuous *c, uint32_t tgid, struct err *err);
int continuous_remove(struct continuous *c, uint32_t tgid, struct err *err);
void continuous_set_interval(struct continuous *c, uint64_t interval);

#define CONTINUOUS_FDS 5
/* Fills in descriptors to poll; returns their number. */
size_t continuous_fds(const struct continuous *c, struct pollfd *out);
/* Does pending work; returns how many ms until the next call. -ENOMEM: the recording is off now. */
int continuous_work(struct continuous *c, struct err *err);

/*
 * Calls fn for each process, with its heap of the first subject, until it returns non-zero, and returns that. beside: for the
 * heaps of other subjects, too.
 */
int continuous_each(const struct continuous *c, bool beside, int (*fn)(void *ctx, const struct continuous_process *p), void *ctx);
/* shown: a subject's number and 1, 0 = the first one; tgid 0: all processes. -ENOENT: not traced, or not recorded. */
int continuous_choose(const struct continuous *c, uint32_t shown, uint32_t tgid, struct heap_choice *out, struct err *err);
/* The process as currently traced; 0 if it is not. */
struct proc_id continuous_find(const struct continuous *c, uint32_t tgid);
/* Is it still the process with that pid? It may have ended, with its data still here. */
bool continuous_is_there(const struct continuous *c, uint32_t tgid);
int continuous_profile(struct continuous *c, const struct profile_request *r, struct err *err);
/* See profiles_forget. */
void continuous_forget(struct continuous *c, const void *caller);
/* Answers requests that wait for symbols with those that exist; files wait for theirs for a second. */
void continuous_flush(struct continuous *c);
/*
 * From now on events go into this new file, too; -1: into none. Takes fd. The previous file is completed when its
 * symbols are there. On failure the previous file continues and end->done is not called.
 */
int continuous_record(struct continuous *c, int fd, const struct trace_end *end, struct err *err);
/* Events in the current file, and the bytes written since it began. */
uint64_t continuous_recorded(const struct continuous *c, uint64_t *bytes);
struct heap_mark *continuous_mark(struct continuous *c, const struct heap_choice *of);
void continuous_status(const struct continuous *c, struct continuous_status *out);
/* How exact the live sets of collected heaps are, see live_exactness. */
void continuous_exactness(struct continuous *c, struct exactness *out);
/* The current ledger; borrowed. */
const struct catalog *continuous_ledger(struct continuous *c);

#endif
