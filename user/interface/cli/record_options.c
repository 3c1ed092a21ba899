/* SPDX-License-Identifier: Apache-2.0 */
/* cli/record_options: `alys-bpf [record] -p PID` and `alys-bpf -- CMD`. */
#include "cli/verb_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/allocators.h"
#include "base/log.h"
#include "base/vec.h"
#include "cli/table_options.h"
#include "functions/patterns.h"
#include "sink/registry.h"
#include "verbs/verbs.h"

#define LIMIT_MAX 512

int record_pids(const struct opt *o, const char *text, void *dest, struct err *err)
{
	struct record_options *r = (void *)((char *)dest - offsetof(struct record_options, pids));
	(void)o;
	for (const char *at = text; *at;) {
		char *end;
		unsigned long n = strtoul(at, &end, 10);
		if (end == at || (*end && *end != ',') || n == 0 || n > 0x7fffffff)
			return err_set(err, EINVAL, "-p wants process numbers such as 1234 or 12,34, got \"%s\"", text);
		uint32_t *pid = VEC_PUSH(r, pids);
		if (!pid)
			return err_set(err, ENOMEM, "out of memory");
		*pid = (uint32_t)n;
		at = end + (*end == ',');
	}
	return 0;
}

static int parse_format(const struct opt *o, const char *text, void *dest, struct err *err)
{
	return opt_format(o, text, "alys", dest, err);
}

static int parse_limit(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint32_t n = 0;
	if (opt_count(o, text, &n, NULL) || n < 2 || n > LIMIT_MAX)
		return err_set(err, EINVAL, "--backtrace-limit wants a number of frames from 2 to %d, got \"%s\"", LIMIT_MAX,
			       text);
	*(uint32_t *)dest = n;
	return 0;
}

/* Repeated: one a line. */
static int parse_calls(const struct opt *o, const char *text, void *dest, struct err *err)
{
	char **all = dest;
	size_t had = *all ? strlen(*all) : 0, n = 1, room = had + strlen(text) + 2;
	(void)o;
	for (const char *at = *all; at && (at = strchr(at, '\n')); at++)
		n++;
	if (pattern_check(text, err))
		return -err->code;
	if (room > PATTERNS_TEXT_MAX || (*all && n >= PATTERNS_MAX))
		return err_set(err, EINVAL, "--calls: more than %d patterns, or more than %d bytes of them", PATTERNS_MAX,
			       PATTERNS_TEXT_MAX - 2);
	char *joined = realloc(*all, room);
	if (!joined)
		return err_set(err, ENOMEM, "out of memory");
	snprintf(joined + had, room - had, "%s%s", *all ? "\n" : "", text);
	*all = joined;
	return 0;
}

#define CALLS_LIMIT_MAX 4096

static int parse_calls_limit(const struct opt *o, const char *text, void *dest, struct err *err)
{
	uint32_t n = 0;
	if (opt_count(o, text, &n, NULL) || n < 1 || n > CALLS_LIMIT_MAX)
		return err_set(err, EINVAL, "--calls-limit wants a number of functions from 1 to %d, got \"%s\"", CALLS_LIMIT_MAX,
			       text);
	*(uint32_t *)dest = n;
	return 0;
}

#define AT(field) offsetof(struct record_options, field)

static const struct opt options[] = {
	{ "pid", 'p', "PID[,PID]", record_pids, AT(pids), NULL, NULL, "attach to these running processes" },
	{ "output", 'o', "FILE", opt_text, AT(output), NULL, NULL,
	  "where to write (default TIME.alys); - is standard output, and COMMAND's goes to standard error" },
	{ "format", 'f', "FORMAT", parse_format, AT(format), NULL, NULL, "write this instead of a trace: " SINK_NAMES },
	{ "duration", 'd', "SECONDS", opt_seconds, AT(duration), NULL, NULL, "stop after this time (default: Ctrl-C or exit)" },
	{ "follow", 'F', NULL, opt_flag, AT(follow), NULL, NULL, "trace forked children as well" },
	{ "sample", 's', "bytes:N", opt_interval, AT(interval), NULL, "ALYS_SAMPLE_INTERVAL",
	  "record one allocation every N bytes on average" },
	{ "max-overhead", 0, "PERCENT", opt_percent, AT(max_overhead), NULL, NULL,
	  "with --sample: probes may take at most this much of the processes' CPU time; 0 is no limit (default 1)" },
	SUBJECT_OPTIONS(AT),
	{ "census", 0, NULL, opt_flag, AT(census), NULL, NULL,
	  "begin with the blocks that glibc's malloc has given out before: in use by size and C++ class, and freed when they "
	  "are" },
	{ "backtrace", 'b', "TYPE", opt_choice, AT(backtrace), "none|addr|name|full", "ALYS_BACKTRACE_TYPE",
	  "what stacks contain (default full)" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	SECTION("What is recorded"),
	{ "allocator", 'a', "NAMES", opt_allocators, AT(allocators), NULL, NULL, "only these: " ALLOC_FAMILY_WORDS },
	OWN_OPTIONS(AT, ""),
	{ "min-size", 0, "BYTES", opt_size, AT(min_size), NULL, NULL, "ignore smaller allocations" },
	PROFILE_OPTION(AT(no_frees), ""),
	{ "calls", 0, "[FILE:]NAME", parse_calls, AT(calls), NULL, NULL,
	  "count the calls of these functions, too, for bytes per call; * and ? match any characters; may be repeated" },
	{ "calls-limit", 0, "N", parse_calls_limit, AT(calls_limit), NULL, NULL,
	  "functions that --calls may match (default 64)" },
	{ "freeze", 0, NULL, opt_flag, AT(freeze), NULL, NULL, "with --census: stop the process while its heap is copied" },
	SECTION("Stacks and names"),
	{ "backtrace-limit", 0, "N", parse_limit, AT(backtrace_limit), NULL, NULL,
	  "maximum frames per stack (default 256, up to 512)" },
	{ "walk", 0, "HOW", opt_choice, AT(walk), "kernel|tables|sleep", NULL,
	  "how to walk stacks (default sleep: tables, faulting pages in)" },
	{ "no-free-stacks", 0, NULL, opt_flag, AT(no_free_stacks), NULL, NULL, "record no call stacks for frees" },
	{ "raw-names", 0, NULL, opt_flag, AT(raw_names), NULL, NULL, "keep mangled names" },
	{ "debuginfod", 0, NULL, opt_flag, AT(debuginfod), NULL, NULL, "fetch missing debug information from DEBUGINFOD_URLS" },
	{ "check-stacks", 0, NULL, opt_flag, AT(check_stacks), NULL, NULL,
	  "for tests: walk each remembered stack once more and count differences" },
	SECTION("Collected heaps"),
	{ "sample-at", 0, "WHERE", opt_choice, AT(sample_at), "auto|call|refill", NULL,
	  "sample libgc at calls or where its free lists are filled" },
	{ "stop-at-gc", 0, NULL, opt_flag, AT(stop_at_gc), NULL, NULL,
	  "stop a collected program after each collection until its marks are read" },
	SECTION("The recording"),
	{ "force", 0, NULL, opt_flag, AT(force), NULL, NULL, "replace an existing output file" },
	LABEL_OPTION(AT(labels)),
	{ "ring", 0, "BYTES", opt_ring, AT(ring_sz), NULL, NULL, "room for unread records (default 64M)" },
	{ "return-probes", 0, NULL, opt_flag, AT(return_probes), NULL, NULL,
	  "return probes everywhere (can kill fiber programs)" },
	{ 0 },
};

/* For compatibility: ALYS_TRACING=file[:NAME] names the output. */
static int output_of_environment(struct record_options *r, struct err *err)
{
	const char *tracing = getenv("ALYS_TRACING");
	if (!tracing || !*tracing || r->output || !strcmp(tracing, "file"))
		return 0;
	if (strncmp(tracing, "file:", 5) || !tracing[5])
		return err_set(err, EINVAL, "environment variable ALYS_TRACING wants file or file:NAME, got \"%s\"", tracing);
	r->output = tracing + 5;
	return 0;
}

/* Of pages alone. */
static int record_subjects(struct record_options *r, struct err *err)
{
	if (!record_has(r, SUBJECT_PAGES) && !record_has(r, SUBJECT_ALLOCATIONS) && r->interval)
		return err_set(err, EINVAL, "--maps records every mapping: leave out --sample");
	if (record_first(r) == SUBJECT_PAGES)
		r->interval = r->interval ?: PAGE_INTERVAL;
	return check_subjects(r, err);
}

static int check_noted(const struct record_options *r, struct err *err)
{
	if (!record_is_noted(r) || !(r->interval || r->max_overhead > 0 || r->sample_at || r->return_probes || *r->own.text))
		return 0;
	return err_set(err, EINVAL,
		       "--allocator usdt has the samples that the program takes itself: leave out --sample, --max-overhead, "
		       "--sample-at, --return-probes and --alloc");
}

/* Of blocks that are left out, frees are not known either. */
static int check_census(const struct record_options *r, struct err *err)
{
	if (!r->census)
		return r->freeze ? err_set(err, EINVAL, "--freeze is for the heap that --census reads: add that") : 0;
	if (r->command || r->pids_cnt != 1)
		return err_set(err, EINVAL, "--census is about what one running process has already: give one -p PID");
	if (!r->interval && record_has(r, SUBJECT_ALLOCATIONS) && !r->allocators && !r->min_size && !r->no_frees)
		return 0;
	return err_set(err, EINVAL,
		       "--census needs every call: leave out --sample, --rss and --maps without --beside, --allocator, "
		       "--min-size and --profile");
}

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct record_options *r = opts;
	(void)n, (void)words;
	r->command = command && *command ? command : NULL;
	if (!r->pids_cnt && !r->command)
		return err_set(err, EINVAL, "nothing to trace: give -p PID or -- COMMAND; see `alys-bpf --help`");
	if (r->pids_cnt && r->command)
		return err_set(err, EINVAL, "-p and -- COMMAND exclude each other: start one recording for each");
	if (r->max_overhead > 0 && !r->interval && !record_has(r, SUBJECT_PAGES))
		return err_set(
			err, EINVAL,
			"--max-overhead is for samples: give --sample bytes:512k with it, or record every call without it");
	if (r->calls && r->backtrace < BACKTRACE_NAME)
		return err_set(err, EINVAL, "--calls needs the names of functions: leave out --backtrace none or addr");
	int rc = check_census(r, err) ?: record_subjects(r, err) ?: check_noted(r, err);
	return rc ? rc : output_of_environment(r, err);
}

static const struct record_options defaults = RECORD_DEFAULTS;

static int run(void *opts, struct err *err)
{
	return run_record(opts, err);
}

const struct verb verb_record = {
	.name = "record",
	.usage = "[record] [OPTIONS] -p PID | -- COMMAND [ARGS]",
	.summary = "Record every allocation, reallocation and free of running processes with its call stack.",
	.opts = options,
	.options_sz = sizeof(struct record_options),
	.defaults = &defaults,
	.line_offset = AT(words),
	.words = take_words,
	.run = run,
	.notes = "Other verbs: report, diff, convert, top, census, graph, dump, daemon,\n"
		 "ctl, info, doctor; each has its own --help. Needs root.",
};
