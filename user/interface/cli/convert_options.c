/* SPDX-License-Identifier: Apache-2.0 */
/* cli/convert_options: `alys-bpf convert`, also as alys_converter. */
#include "cli/verb_list.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "cli/table_options.h"
#include "sink/registry.h"
#include "verbs/verbs.h"

static int parse_format(const struct opt *o, const char *text, void *dest, struct err *err)
{
	return opt_format(o, text, "inferno-flamegraph", dest, err);
}

static int parse_inferno(const struct opt *o, const char *text, void *dest, struct err *err)
{
	struct convert_options *c = (void *)((char *)dest - o->offset);
	const char **word = VEC_PUSH(c, inferno);
	if (!word)
		return err_set(err, ENOMEM, "out of memory");
	*word = text;
	return 0;
}

#define AT(field) offsetof(struct convert_options, field)
#define NAMES_AT(field) offsetof(struct convert_options, names.field)

static const struct opt options[] = {
	{ "output", 'o', "FILE", opt_text, AT(output), NULL, NULL, "same as OUT; - is standard output (default: by IN's name)" },
	{ "format", 'f', "FORMAT", parse_format, AT(format), NULL, NULL, SINK_NAMES "; json if not given" },
	NAME_OPTIONS(NAMES_AT),
	{ "crystal-style", 0, NULL, opt_flag, AT(crystal_style), NULL, NULL,
	  "frames as Crystal prints them: file:line:column in 'name'" },
	{ "indent", 0, NULL, opt_flag, AT(indent), NULL, NULL, "json: one value per line" },
	{ "stacks", 0, "HOW", opt_choice, AT(stacks), CONVERT_STACKS, NULL,
	  "json, jsonl: frames with each event (default), or once and events have their number" },
	{ "inferno-opt", 0, "K[=V]", parse_inferno, AT(inferno), NULL, NULL, "pass --K[=V] to inferno-flamegraph" },
	{ "value", 0, "VALUE", opt_text, AT(value), NULL, NULL, "alloc_objects alloc_space inuse_objects inuse_space" },
	SHOWN_OPTION(AT(shown), ""),
	{ "at", 0, "SECONDS", opt_at, AT(from), NULL, NULL, "only what happened up to this time" },
	{ "between", 0, "T1,T2", opt_between, AT(from), NULL, NULL, "only what happened between these seconds" },
	{ "top", 0, "N", opt_rows, AT(top), NULL, NULL, "text: number of rows" },
	{ "keep-allocator-frames", 0, NULL, opt_flag, AT(keep_allocator_frames), NULL, NULL,
	  "keep malloc and the like in stacks" },
	LABEL_OPTION(AT(labels)),
	SKIP_OPTIONS(AT, "MEMPROF_STACK_SKIP"),
	{ "no-addresses", 0, NULL, opt_flag, AT(no_addresses), NULL, NULL, "write no memory addresses" },
	{ "force", 0, NULL, opt_flag, AT(force), NULL, NULL, "replace an existing output file" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct convert_options *c = opts;
	(void)command;
	c->input = words[0];
	if (n > 1 && c->output)
		return err_set(err, EINVAL, "two outputs: -o %s and %s; give one", c->output, words[1]);
	c->output = n > 1 ? words[1] : c->output;
	if (c->stacks && c->format && strncmp(c->format, "json", 4))
		return err_set(err, EINVAL, "--stacks is for -f json and -f jsonl, not for -f %s", c->format);
	if (c->indent && c->format && strcmp(c->format, "json"))
		return err_set(err, EINVAL, "--indent is for -f json");
	if (c->labels[0] && (!c->format || (strcmp(c->format, "pprof") && strcmp(c->format, "otlp"))))
		return err_set(err, EINVAL, "--label is for -f pprof and -f otlp: other formats have no labels");
	if (c->inferno_cnt && (!c->format || c->format[0] != 'i'))
		return err_set(err, EINVAL, "--inferno-opt is for -f inferno-flamegraph only");
	return 0;
}

static int run(void *opts, struct err *err)
{
	return run_convert(opts, err);
}

const struct verb verb_convert = {
	.name = "convert",
	.usage = "convert [OPTIONS] IN.alys [OUT]",
	.summary = "Turn a trace into JSON, pprof, folded stacks, a flame graph or a table.",
	.opts = options,
	.options_sz = sizeof(struct convert_options),
	.words_min = 1,
	.words_max = 2,
	.words = take_words,
	.run = run,
	.notes = "-f inferno-flamegraph draws with that program. As OUT, - is standard\n"
		 "output; without OUT the name is made from IN: .json, .pb.gz, .folded,\n"
		 ".svg, .txt and so on. For kcachegrind: -f pprof, then go tool pprof\n"
		 "-callgrind. Needs no root.",
};
