/* SPDX-License-Identifier: Apache-2.0 */
/* cli/graph_options: `alys-bpf graph -p PID --type NAME` and `alys-bpf graph DUMP --type NAME`. */
#include "cli/verb_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap_options.h"
#include "mallocview/mallocview.h"

static int parse_address(const struct opt *o, const char *text, void *dest, struct err *err)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 16);
	if (end == text || *end || !n)
		return err_set(err, EINVAL, "--%s wants an object's address such as 0x7f5c2a3d1e40, got \"%s\"", o->name, text);
	*(uint64_t *)dest = n;
	return 0;
}

#define AT(field) offsetof(struct graph_options, field)
#define HEAP_AT(field) offsetof(struct graph_options, heap.field)

static const struct opt options[] = {
	HEAP_OPTIONS(HEAP_AT),
	{ "type", 't', "NAME", opt_text, AT(type), NULL, NULL, "draw who holds objects of this type" },
	{ "object", 0, "ADDRESS", parse_address, AT(object), NULL, NULL, "draw who holds the object there" },
	{ "levels", 0, "N", opt_count, AT(levels), NULL, "MEMPROF_REF_LEVEL", "levels of holders, 0 = all (default 5)" },
	{ "limit", 0, "N", opt_count, AT(limit), NULL, "MEMPROF_REF_LIMIT", "objects of the type, 0 = all (default 10)" },
	{ "format", 'f', "FORMAT", opt_choice, AT(format), "mermaid|dot|json", NULL, "how to draw it (default mermaid)" },
	{ "paths", 0, NULL, opt_flag, AT(paths), NULL, NULL, "the shortest way from a root to each object as well" },
	{ "show", 0, "WHAT", opt_choice, AT(show), "graph|counts|sizes", NULL,
	  "instead: live objects of each type, or bytes they lead to" },
	{ "size", 0, "ADDRESS", parse_address, AT(address), NULL, NULL,
	  "instead: bytes of the object there and of all it leads to" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct graph_options *g = opts;
	(void)command;
	g->input = n ? words[0] : NULL;
	if (!g->input && !g->heap.pid)
		return err_set(err, EINVAL, "no heap to look at: give -p PID or a dump made by `alys-bpf dump`");
	if (g->input && (g->heap.pid || g->heap.freeze || g->heap.malloc || g->heap.live || g->heap.type_ids || g->heap.fields ||
			 g->heap.learn))
		return err_set(err, EINVAL,
			       "-p, --freeze, --malloc, --live, --type-ids, --fields and --learn are for a live process: a dump "
			       "contains these already");
	if (g->type && g->object)
		return err_set(err, EINVAL, "--type and --object exclude each other");
	if (!g->type && !g->object && !g->show && !g->address)
		return err_set(err, EINVAL,
			       "no objects given: use --type NAME or --object ADDRESS; --show counts lists the types");
	return heap_options_check(&g->heap, err);
}

static const struct graph_options defaults = { .levels = 5, .limit = 10 };

static int run(void *opts, struct err *err)
{
	return run_graph(opts, err);
}

const struct verb verb_graph = {
	.name = "graph",
	.usage = "graph [OPTIONS] -p PID | DUMP",
	.summary = "Draw who holds the objects of a type: of Boehm's collector, or blocks of malloc by C++ class or size.",
	.opts = options,
	.options_sz = sizeof(struct graph_options),
	.defaults = &defaults,
	.words_max = 1,
	.words = take_words,
	.run = run,
	.notes = "Needs root for -p. Live is what roots lead to at that moment; without\n"
		 "--freeze the process runs on meanwhile, and the answer is approximate.\n"
		 "--freeze stops it while its heap is copied, at most 2 s. Of glibc's\n"
		 "malloc, types are C++ classes and sizes as in `census`, and any word\n"
		 "that could be an address of a block counts as one.",
};
