/* SPDX-License-Identifier: Apache-2.0 */
/* cli/diff_options: `alys-bpf diff BEFORE AFTER`. */
#include "cli/verb_list.h"

#include "cli/table_options.h"
#include "verbs/verbs.h"

#define AT(field) offsetof(struct diff_request, field)
#define TABLE_AT(field) offsetof(struct diff_request, report.field)

static const struct opt options[] = {
	TABLE_OPTIONS(TABLE_AT),
	{ "per", 0, "WHAT", opt_choice, TABLE_AT(per), REPORT_PER, NULL,
	  "compare totals, or rates per second (default: rates for what was allocated or freed in recordings of unequal length, "
	  "else totals)" },
	SHOWN_OPTION(AT(shown), ""),
	{ "flamegraph", 0, "OUT", opt_text, AT(flamegraph), NULL, NULL, "write a differential flame graph (SVG) instead" },
	{ "force", 0, NULL, opt_flag, AT(force), NULL, NULL, "--flamegraph: replace an existing file" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	TABLE_MORE_OPTIONS(TABLE_AT),
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct diff_request *d = opts;
	(void)n, (void)command, (void)err;
	d->before = words[0];
	d->after = words[1];
	/* By function: line numbers change between builds. */
	if (d->report.by == BY_STANDARD)
		d->report.by = BY_FUNCTION;
	return 0;
}

static const struct diff_request defaults = { .report = TABLE_DEFAULTS };

static int run(void *opts, struct err *err)
{
	return run_diff(opts, err);
}

const struct verb verb_diff = {
	.name = "diff",
	.usage = "diff [OPTIONS] BEFORE.alys AFTER.alys",
	.summary = "Show what grew, shrank, appeared and disappeared from one trace to another.",
	.opts = options,
	.options_sz = sizeof(struct diff_request),
	.defaults = &defaults,
	.words_min = 2,
	.words_max = 2,
	.words = take_words,
	.run = run,
	.notes = "The same with pprof: convert both traces with -f pprof, then\n"
		 "go tool pprof -diff_base BEFORE.pb.gz AFTER.pb.gz",
};
