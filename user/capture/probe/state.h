/* SPDX-License-Identifier: Apache-2.0 */
/* probe/state: the loaded programs and the attachments, shared by the files of this module. */
#ifndef ALYS_PROBE_STATE_H
#define ALYS_PROBE_STATE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "access/rights.h"
#include "kernel/files.h"
#include "kernel/tier.h"
#include "probe/probe.h"

struct counted {
	char *name;       /* malloc@libc.so.6 */
	uint64_t settled; /* calls found lost after the processes had ended */
	uint64_t thrown;  /* or failed, because they threw */
};

struct counted_list {
	struct counted *functions; /* by index; the first one stands for all others */
	size_t functions_cnt, functions_cap;
};

struct alys_bpf;
struct bpf_program;
struct programs;

/* How a link of windows is attached each time, see probe/window.h. */
struct reattach {
	struct rights_link link; /* the first sites of `all`: see probe/stayers.h */
	uint32_t all, turns;     /* how often it went */
	uint64_t words[];        /* offsets of all, then their cookies */
};

/* Duplicates the file's descriptor. NULL: out of memory or descriptors. */
struct reattach *reattach_new(const struct rights_link *l);
void reattach_free(struct reattach *a);

/* One attachment: a multi link for many sites, or a perf event for one. */
struct attachment {
	uint32_t tgid;      /* 0 = all targets */
	uint32_t trial;     /* trial that it belongs to, 0 = none */
	bool not_allocator; /* see struct batch */
	struct probe_file file;
	int fd;                    /* of the link; -1: detached */
	struct reattach *reattach; /* attached during windows only; NULL = always */
	int stay_fd;               /* of the link of those sites that stay between windows, see probe/stayers.h; -1: none */
	bool lingers, gc_calls;    /* see struct batch */
};

#define LISTENING 8

#define OBJECT_LOG_SZ (ALYS_OBJECT_LOG_SLOTS * sizeof(struct alys_sampled_object))

struct probe {
	struct alys_bpf *skel;
	struct programs *programs;
	struct kernel_facts facts;
	enum probe_tier tier;
	uint8_t walk; /* ALYS_WALK_* in use */
	struct tables *tables;
	struct attachment *attachments;
	size_t attachments_cnt, attachments_cap;
	pthread_mutex_t lock;  /* protects attachments, and: */
	bool windows_detached; /* those for windows are detached, but for those that linger */
	bool lingering;        /* these are attached, if there are any: from the beginning, or since a window */
	bool windowed;         /* as configured, like: */
	bool no_frees;
	bool page_windows;
	bool listening_pages;      /* with page_windows */
	double fault_traps;        /* stops at a probe that cost as much as a fault that is passed over */
	struct alys_faults faults; /* as of probe_window_spent */
	double faults_ours;        /* of these, at targets */
	uint64_t rewriting_ns;     /* took attaching and detaching of tracepoints */
	uint64_t came[2];          /* probes attached for windows so far: of links of all programs, and of one */
	uint32_t subjects;         /* 1 << ALYS_SUBJECT_* */
	uint32_t trials_cnt;
	uint32_t only_free; /* the only site of a plain free so far, + 1 */
	struct files files;
	struct counted_list counted;
	const struct alys_sampled_object *object_log; /* written by the programs; NULL = no sampling */
	int listening[LISTENING];                     /* raw tracepoints, 0 = not attached */
	int *faulting;                                /* sources of page faults, the same; NULL = never */
};

#endif
