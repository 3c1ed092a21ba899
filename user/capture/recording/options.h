/* SPDX-License-Identifier: Apache-2.0 */
/* recording/options: options of a recording, parsed and checked. */
#ifndef ALYS_RECORDING_OPTIONS_H
#define ALYS_RECORDING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "allocators/own.h"
#include "catalog/attributes.h"
#include "event/event.h"

/* Defaults. */
#define RECORD_DEFAULTS                                                                                           \
	{                                                                                                         \
		.backtrace = BACKTRACE_FULL, .backtrace_limit = 256, .walk = 2 /* sleep */, .ring_sz = 64u << 20, \
		.max_overhead = OVERHEAD_UNSET, .calls_limit = 64,                                                \
	}

/* Percent: the limit of sampled recordings, where the user says nothing. */
#define OVERHEAD_DEFAULT 1.0
#define OVERHEAD_UNSET (-1.0)

enum backtrace { BACKTRACE_NONE, BACKTRACE_ADDR, BACKTRACE_NAME, BACKTRACE_FULL };

struct record_options {
	uint32_t *pids;
	size_t pids_cnt, pids_cap;
	char **command;      /* `-- CMD ARGS`, NULL-terminated; NULL = none */
	const char *output;  /* NULL: TIME.alys */
	const char *format;  /* NULL or "alys": the trace itself */
	bool force;          /* replace an existing output */
	double duration;     /* seconds, 0 = until the end or Ctrl-C */
	uint64_t interval;   /* bytes:N, 0 = every call */
	double max_overhead; /* percent of the targets' CPU time that probes may take when sampling, 0 = any, OVERHEAD_UNSET */
	uint32_t sample_at;  /* enum sample_at, SAMPLE_AT_ANY = automatic */
	uint64_t min_size;
	uint32_t backtrace; /* enum backtrace */
	uint32_t backtrace_limit;
	uint64_t ring_sz;
	uint64_t memory;        /* memory limit of the recording, 0 = none; see struct probe_config */
	const char *allocators; /* comma-separated families, NULL = all */
	struct own_functions own;
	char *calls;          /* patterns of functions whose calls are counted, one a line; NULL = none */
	uint32_t calls_limit; /* functions that they may match */
	bool follow;
	bool no_free_stacks;
	uint32_t no_frees; /* --profile allocations: of allocators without a collector */
	bool check_stacks; /* check remembered stacks by a full walk */
	bool return_probes;
	uint32_t subjects;           /* 1 << enum subject, or-ed; 0 = allocations */
	bool beside;                 /* allocations, too */
	bool stop_at_gc;             /* stop targets while the marks of a collection are read */
	bool raw_names;              /* mangled */
	bool debuginfod;             /* may use the network */
	uint32_t walk;               /* ALYS_WALK_* */
	char labels[ATTRIBUTES_MAX]; /* of every process: see catalog/attributes.h */
	char *words;                 /* the options as given, for `info` */
	bool census;                 /* blocks that are older than the recording are in it, too */
	bool freeze;                 /* the process is stopped for that, while its heap is copied */
	bool live;                   /* its consumer reads results while it runs, not after its end */
};

/* Of pages; up to some thousand faults a second all are looked at. */
#define PAGE_INTERVAL (256u << 10)
#define PAGE_BYTES 4096

static inline bool record_has(const struct record_options *o, enum subject s)
{
	return s == SUBJECT_ALLOCATIONS ? !o->subjects || o->beside : o->subjects & 1u << s;
}

/* The others are beside it. */
static inline enum subject record_first(const struct record_options *o)
{
	enum subject s = SUBJECT_ALLOCATIONS;
	while (!record_has(o, s))
		s++;
	return s;
}

static inline uint32_t record_beside(const struct record_options *o)
{
	return o->subjects & ~(1u << record_first(o));
}

/* Probes that programs define are recorded, where they do; record_is_noted: and nothing else. */
static inline bool record_takes_notes(const struct record_options *o)
{
	const char *found = o->allocators ? strstr(o->allocators, "usdt") : NULL;
	return found && (found == o->allocators || found[-1] == ',') && (!found[4] || found[4] == ',');
}

static inline bool record_is_noted(const struct record_options *o)
{
	return o->allocators && !strcmp(o->allocators, "usdt");
}

/* Calls of allocators are sampled here, and may be limited by windows. */
static inline bool record_samples_calls(const struct record_options *o)
{
	return o->interval && record_has(o, SUBJECT_ALLOCATIONS) && !record_is_noted(o);
}

/* Pages come in windows unless the user asks for all of them. */
static inline double record_overhead(const struct record_options *o)
{
	bool pages = record_has(o, SUBJECT_PAGES) && (!o->interval || o->interval >= PAGE_BYTES || o->max_overhead > 0);
	if (!record_samples_calls(o) && !pages)
		return 0;
	return o->max_overhead < 0 ? OVERHEAD_DEFAULT : o->max_overhead;
}

#endif
