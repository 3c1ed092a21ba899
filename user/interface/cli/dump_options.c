/* SPDX-License-Identifier: Apache-2.0 */
/* cli/dump_options: `alys-bpf dump -p PID -o FILE`. */
#include "cli/verb_list.h"

#include <errno.h>

#include "cli/heap_options.h"
#include "mallocview/mallocview.h"

#define AT(field) offsetof(struct dump_options, field)
#define HEAP_AT(field) offsetof(struct dump_options, heap.field)

static const struct opt options[] = {
	HEAP_OPTIONS(HEAP_AT),
	{ "output", 'o', "FILE", opt_text, AT(output), NULL, NULL, "where to write" },
	{ "force", 0, NULL, opt_flag, AT(force), NULL, NULL, "replace an existing file" },
	{ "sites", 0, "TRACE", opt_text, AT(sites), NULL, NULL, "a recording of this process: where its objects were allocated" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct dump_options *d = opts;
	(void)n, (void)words, (void)command;
	if (!d->heap.pid)
		return err_set(err, EINVAL, "no process given: use -p PID");
	if (!d->output)
		return err_set(err, EINVAL, "no output file given: use -o FILE");
	return heap_options_check(&d->heap, err);
}

static int run(void *opts, struct err *err)
{
	return run_dump(opts, err);
}

const struct verb verb_dump = {
	.name = "dump",
	.usage = "dump [OPTIONS] -p PID -o FILE",
	.summary = "Write the live objects of a program, or the blocks of its malloc, their types and references to a file.",
	.opts = options,
	.options_sz = sizeof(struct dump_options),
	.line_offset = AT(words),
	.words = take_words,
	.run = run,
	.notes = "Read it with graph, report --by type, diff (two dumps), convert. Needs\n"
		 "root.",
};
