/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/continuous_shapes: what monitor/continuous takes, and what it tells of itself and its processes. Strings are borrowed. */
#ifndef ALYS_MONITOR_CONTINUOUS_SHAPES_H
#define ALYS_MONITOR_CONTINUOUS_SHAPES_H

#include "format/skip.h"
#include "governor/windows.h"
#include "monitor/limits.h"
#include "recording/options.h"
#include "target/select.h"

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
	double cpu_s;                             /* of all our processes, since the start */
	uint64_t memory, memory_max;              /* of all our processes and in the kernel */
	uint64_t memory_kernel, memory_set_aside; /* the kernel's part; reserved for profiles */
	double overhead;                          /* percent of all CPUs: probes and ourselves */
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

#endif
