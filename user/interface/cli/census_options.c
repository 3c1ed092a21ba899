/* SPDX-License-Identifier: Apache-2.0 */
/* cli/census_options: `alys-bpf census -p PID`. */
#include "cli/verb_list.h"

#include <errno.h>

#include "cli/table_options.h"
#include "mallocview/mallocview.h"

#define AT(field) offsetof(struct census_options, field)
#define TABLE_AT(field) offsetof(struct census_options, report.field)

static const struct opt options[] = {
	{ "pid", 'p', "PID", opt_count, TABLE_AT(pid), NULL, NULL, "the process, which is not probed" },
	{ "type-ids", 0, "FILE", opt_text, AT(type_ids), NULL, NULL,
	  "names of types, as `CRYSTAL_DUMP_TYPE_ID=1 crystal build` prints them" },
	{ "learn", 0, "TRACE", opt_text, AT(learn), NULL, NULL,
	  "names of types from a recording of this process: what `Foo.new` allocated" },
	{ "gc-wait", 0, "SECONDS", opt_seconds, AT(gc_wait), NULL, NULL,
	  "wait at most this long for the program's next collection" },
	{ "malloc", 0, NULL, opt_flag, AT(malloc), NULL, NULL, "glibc's malloc, also of a program that has a garbage collector" },
	{ "freeze", 0, NULL, opt_flag, AT(freeze), NULL, NULL,
	  "glibc's malloc: stop it while its heap is copied: exact, at most 2 s" },
	{ "heap", 0, NULL, opt_flag, AT(heap), NULL, NULL, "where memory is instead: in use, free, resident, by size" },
	{ "counts", 0, NULL, opt_flag, AT(counts), NULL, NULL, "plain lines: their number, then COUNT<tab>TYPE" },
	{ "sort", 0, "HOW", opt_choice, TABLE_AT(sort), "size|count|name", NULL, "order of rows, largest first (default size)" },
	{ "ascending", 0, NULL, opt_flag, TABLE_AT(ascending), NULL, NULL, "reverse the order" },
	{ "top", 0, "N", opt_rows, TABLE_AT(top), NULL, NULL, "rows, 0 = all (default: text 30, other formats all)" },
	{ "min-bytes", 0, "N", opt_size, TABLE_AT(min_bytes), NULL, NULL, "hide smaller rows" },
	{ "min-count", 0, "N", opt_count, TABLE_AT(min_count), NULL, NULL, "hide rows of fewer objects" },
	{ "columns", 0, "NAME,...", opt_text, TABLE_AT(columns), NULL, NULL, "these columns in this order; -f csv names them" },
	{ "format", 'f', "FORMAT", opt_choice, TABLE_AT(format), REPORT_FORMAT, NULL, "how to write the table (default text)" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct census_options *o = opts;
	(void)n, (void)words, (void)command;
	if (!o->report.pid)
		return err_set(err, EINVAL, "no process given: use -p PID (`pgrep -a NAME` finds it)");
	if (o->malloc && (o->type_ids || o->learn || o->gc_wait > 0))
		return err_set(err, EINVAL, "--type-ids, --learn and --gc-wait are for collected heaps: leave out --malloc");
	if (o->heap && (o->counts || o->type_ids || o->learn))
		return err_set(err, EINVAL, "--heap does not show types: leave out --counts, --type-ids and --learn");
	/* --counts is for programs: unlimited unless --top is given. */
	if (o->counts && o->report.top == REPORT_TOP_STANDARD)
		o->report.top = 0;
	return 0;
}

static const struct census_options defaults = { .report = TABLE_DEFAULTS };

static int run(void *opts, struct err *err)
{
	return run_census(opts, err);
}

const struct verb verb_census = {
	.name = "census",
	.usage = "census [OPTIONS] -p PID",
	.summary =
		"Count the live objects of a running program by type, or the blocks of its malloc by class and size; no probes.",
	.opts = options,
	.options_sz = sizeof(struct census_options),
	.defaults = &defaults,
	.words = take_words,
	.run = run,
	.notes = "Counts what the last collection of Boehm's collector (libgc) reached;\n"
		 "in other programs, or with --malloc, the blocks of glibc's malloc.\n"
		 "Works on programs that nobody traced before, also optimized ones.\n"
		 "Needs the right to read the process's memory: root, as a rule.",
};
