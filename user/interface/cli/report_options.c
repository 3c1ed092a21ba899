/* SPDX-License-Identifier: Apache-2.0 */
/* cli/report_options: `alys-bpf report FILE` and `alys-bpf report -p PID`. */
#include "cli/verb_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_options.h"
#include "verbs/verbs.h"

#define AT(field) offsetof(struct report_request, field)
#define NAMES_AT(field) offsetof(struct report_request, names.field)
#define TABLE_AT(field) offsetof(struct report_request, report.field)

/* "10%" of the time, "30", "30s", "5m", "2h" */
static int opt_older(const struct opt *o, const char *text, void *dest, struct err *err)
{
	struct older_than *older = dest;
	char *end;
	double n = strtod(text, &end);
	double unit = !strcmp(end, "%") || !strcmp(end, "s") || !*end ? 1 : !strcmp(end, "m") ? 60 : !strcmp(end, "h") ? 3600 : 0;
	bool percent = *end == '%';
	if (end == text || !unit || !(n > 0) || n * unit > 1e9 || (percent && n >= 100))
		return err_set(err, EINVAL, "--%s wants an age, such as 30s, 5m or 10%% of the recording, got \"%s\"", o->name,
			       text);
	*older = (struct older_than){ n * unit, percent };
	return 0;
}

static const struct opt options[] = {
	TABLE_OPTIONS(TABLE_AT),
	{ "type", 0, "TYPE", opt_text, TABLE_AT(type), NULL, "TRACE_TARGET", "the stacks that allocate objects of this type" },
	{ "gc", 0, NULL, opt_flag, AT(collections), NULL, NULL,
	  "each collection of the garbage collector: when, how long, what it reclaimed, who triggered it" },
	{ "html", 0, "OUT", opt_text, AT(html), NULL, NULL, "write one page with graphs and tables instead" },
	{ "pid", 'p', "PID", opt_count, TABLE_AT(pid), NULL, NULL,
	  "watch this process; with FILE: only this process of the trace" },
	{ "heap", 0, NULL, opt_flag, AT(heap), NULL, NULL,
	  "-p: where memory is, in malloc's or a collector's heap; with -d: whose blocks keep nearly empty pages of it" },
	TABLE_MORE_OPTIONS(TABLE_AT),
	SHOWN_OPTION(AT(shown), "-p: what is recorded; "),
	SECTION("Time"),
	{ "at", 0, "SECONDS", opt_at, AT(from), NULL, NULL, "the heap this long after the recording began" },
	{ "between", 0, "T1,T2", opt_between, AT(from), NULL, NULL, "only what was allocated between these seconds" },
	{ "older-than", 0, "AGE", opt_older, AT(older), NULL, NULL,
	  "--show leaked: leave out blocks younger at the end than this: 30s, 5m, or 10% of the recording" },
	SECTION("A running process"),
	{ "every", 0, "SECONDS", opt_seconds, AT(every), NULL, NULL, "-p: report at this interval" },
	{ "duration", 'd', "SECONDS", opt_seconds, AT(duration), NULL, NULL,
	  "-p: stop after this time (default: Ctrl-C or exit)" },
	{ "sample", 's', "bytes:N", opt_interval, AT(interval), NULL, NULL,
	  "-p: one allocation every N bytes on average (default: every call)" },
	{ "max-overhead", 0, "PERCENT", opt_percent, AT(max_overhead), NULL, NULL,
	  "-p, with --sample: probes may take at most this much of the process' CPU time; 0 is no limit (default 1)" },
	PROFILE_OPTION(AT(no_frees), "-p: "),
	OWN_OPTIONS(AT, "-p: "),
	{ "live", 0, NULL, opt_flag, AT(live), NULL, NULL, "-p: what a garbage collection leaves: waits for the next one" },
	{ "gc-wait", 0, "SECONDS", opt_seconds, AT(gc_wait), NULL, NULL, "--live: wait at most this long (default 60)" },
	SECTION("Where names come from"),
	NAME_OPTIONS(NAMES_AT),
	SECTION("The output"),
	{ "force", 0, NULL, opt_flag, AT(force), NULL, NULL, "--html: replace an existing file" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	{ 0 },
};

/* For compatibility: an environment variable sets --depth; for stacks of a type, its default is 6. */
static int depth_of_environment(struct report_request *r, struct err *err)
{
	static const struct opt limit = { .name = "depth", .arg = "N" };
	const char *text = getenv("TRACE_BACKTRACE_LIMIT");
	if (!text || !*text || r->report.depth != REPORT_DEPTH)
		return 0;
	if (opt_count(&limit, text, &r->report.depth, err))
		return err_wrap(err, "environment variable TRACE_BACKTRACE_LIMIT");
	return 0;
}

/* Options that the HTML report does not support. */
static bool narrows(const struct report_options *o)
{
	return o->by != BY_STANDARD || o->show != SHOW_STANDARD || o->focus || o->ignore || o->callers || o->callees || o->type ||
	       o->pid || o->inclusive || o->columns || o->format;
}

static bool asks_names(const struct name_options *n)
{
	return n->symbolize || n->sysroot || n->any_build || n->debuginfod || n->raw_names;
}

/* What is recorded of a running process, where these are not its allocations. */
static int check_shown(const struct report_request *r, struct err *err)
{
	if (r->input || r->shown <= SUBJECT_ALLOCATIONS + 1)
		return 0;
	if (r->heap || r->live || r->no_frees || *r->own.text)
		return err_set(err, EINVAL,
			       "--subject rss and maps are not about allocations: leave out --heap, --live, --profile, --alloc, "
			       "--realloc and --free");
	if (r->shown == SUBJECT_MAPPINGS + 1 && (r->interval || r->max_overhead > 0))
		return err_set(err, EINVAL, "--subject maps has every mapping: leave out --sample and --max-overhead");
	return 0;
}

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct report_request *r = opts;
	(void)command;
	r->input = n ? words[0] : NULL;
	if (!r->input && !r->report.pid)
		return err_set(err, EINVAL, "nothing to report on: give a .alys trace or -p PID");
	if (r->input && (r->every || r->duration))
		return err_set(err, EINVAL,
			       "--every and --duration are for -p PID without a trace; for a part of a trace see --between");
	if (r->input && (r->live || r->gc_wait))
		return err_set(err, EINVAL, "--live and --gc-wait are for -p PID; for collections in a trace see --gc");
	if (r->input && (r->interval || r->max_overhead > 0 || r->no_frees || *r->own.text))
		return err_set(
			err, EINVAL,
			"--sample, --max-overhead, --profile, --alloc, --realloc and --free are for -p PID without a trace, "
			"which has what was recorded");
	if (r->max_overhead > 0 && !r->interval && r->shown != SUBJECT_PAGES + 1)
		return err_set(err, EINVAL,
			       "--max-overhead is for samples: give --sample bytes:512k with it, or see every call without it");
	if (r->older.number && (r->report.show != SHOW_LEAKED || r->collections || r->heap))
		return err_set(err, EINVAL, "--older-than is for --show leaked");
	if (r->live && !r->gc_wait)
		r->gc_wait = 60;
	if (!r->input && r->collections)
		return err_set(err, EINVAL, "--gc is for a trace: make one with `alys-bpf record`");
	if (!r->input && (r->until || asks_names(&r->names) || r->html))
		return err_set(
			err, EINVAL,
			"--at, --between, --html and where names come from are for a trace: make one with `alys-bpf record`");
	if (r->html && narrows(&r->report))
		return err_set(err, EINVAL,
			       "--html writes one page with all views: only --at, --between, --keep-allocator-frames, --skip, "
			       "--no-skip and where names come from go with it");
	if (r->heap && (r->input || r->every))
		return err_set(err, EINVAL,
			       "--heap is for a running process, once: give -p PID without a trace and without --every");
	return check_shown(r, err) ?: depth_of_environment(r, err);
}

static const struct report_request defaults = { .report = TABLE_DEFAULTS, .max_overhead = OVERHEAD_UNSET };

static int run(void *opts, struct err *err)
{
	return run_report(opts, err);
}

const struct verb verb_report = {
	.name = "report",
	.usage = "report [OPTIONS] FILE.alys | -p PID",
	.summary = "Answer one question about a trace or a running process with a table.",
	.opts = options,
	.options_sz = sizeof(struct report_request),
	.defaults = &defaults,
	.line_offset = AT(words),
	.words_max = 1,
	.words = take_words,
	.run = run,
	.notes = "What holds memory now:        report FILE\n"
		 "What allocates most:          report --show alloc --by function FILE\n"
		 "Who called it:                report --show alloc --callers NAME FILE\n"
		 "What was there at the peak:   report --show peak FILE\n"
		 "What leaks, steadiest first:  report --show leaked FILE\n"
		 "How long blocks lived:        report --show freed FILE\n"
		 "Allocations by type:          report --show alloc --by type --sort count\n"
		 "                              --ascending -f tally FILE\n"
		 "Where a type comes from:      report --type TYPE FILE\n"
		 "What the collector did:       report --gc FILE\n"
		 "What a collection left:       report -p PID --live\n"
		 "Times are seconds since the start of the recording. Only -p needs\n"
		 "root.",
};
