/* SPDX-License-Identifier: Apache-2.0 */
/* verbs: one function per verb; each returns the exit status and reports errors through err. */
#ifndef ALYS_VERBS_H
#define ALYS_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "catalog/attributes.h"
#include "naming/name_sources.h"
#include "recording/options.h"
#include "report/report.h"
#include "verbs/leave_out.h"

#define CONVERT_STACKS "each|once"
enum { STACKS_EACH, STACKS_ONCE };

struct convert_options {
	const char *input;
	const char *output; /* NULL: the input's name with the format's extension; "-": stdout */
	uint64_t *size;     /* receives the output's size, for callers that report it themselves; NULL = convert reports it */
	const char *format; /* NULL: json */
	struct name_options names;
	const char **inferno; /* K[=V] options for inferno-flamegraph */
	size_t inferno_cnt, inferno_cap;
	const char *value;
	uint32_t shown;     /* see replay_show */
	double from, until; /* only this range in seconds; until 0 = all */
	uint64_t top;
	bool indent;
	uint32_t stacks; /* STACKS_* */
	bool force;
	bool keep_allocator_frames;
	struct skip skip;
	bool crystal_style;
	bool no_addresses;
	char labels[ATTRIBUTES_MAX]; /* more of every process: see catalog/attributes.h */
};

struct report_request {
	struct report_options report;
	const char *input; /* NULL: the live process report.pid */
	struct name_options names;
	uint32_t shown;     /* see replay_show */
	double from, until; /* only this range in seconds; until 0 = all */
	struct older_than older;
	double every, duration;   /* live: seconds between reports, and total */
	bool heap;                /* live: statistics of its heap; with duration, also whose blocks keep nearly empty pages */
	bool collections;         /* the garbage collector's collections, instead */
	bool live;                /* wait for the next collection */
	uint64_t interval;        /* live: bytes:N, 0 = every call */
	double max_overhead;      /* live, sampled: percent of the process' CPU time for probes, 0 = any */
	uint32_t no_frees;        /* live: --profile allocations */
	struct own_functions own; /* live */
	double gc_wait;           /* live: report after the next collection, or after so many seconds; 0 = do not wait */
	const char *html;         /* write an HTML page instead */
	bool force;
	char *words;
};

struct diff_request {
	struct report_options report;
	const char *before, *after;
	uint32_t shown;         /* see replay_show */
	const char *flamegraph; /* write a flame graph instead */
	bool force;
};

struct info_options {
	const char *input;
	bool strict; /* damage is an error */
};

struct doctor_options {
	uint32_t probes_pid; /* list sites of this process, 0 = no */
	const char *unwind;  /* print unwind rows of this file */
	struct own_functions own;
};

int run_record(const struct record_options *o, struct err *err);
int run_convert(const struct convert_options *o, struct err *err);
int run_report(const struct report_request *o, struct err *err);
int run_diff(const struct diff_request *o, struct err *err);
int run_info(const struct info_options *o, struct err *err);
int run_doctor(const struct doctor_options *o, struct err *err);

#endif
