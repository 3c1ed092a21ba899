/* SPDX-License-Identifier: Apache-2.0 */
/* cli/info_options: `alys-bpf info FILE`. */
#include "cli/verb_list.h"

#include "verbs/verbs.h"

static const struct opt options[] = {
	{ "strict", 0, NULL, opt_flag, offsetof(struct info_options, strict), NULL, NULL,
	  "a damaged trace is an error (status 3)" },
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	(void)n, (void)command, (void)err;
	((struct info_options *)opts)->input = words[0];
	return 0;
}

static int run(void *opts, struct err *err)
{
	return run_info(opts, err);
}

const struct verb verb_info = {
	.name = "info",
	.usage = "info [OPTIONS] FILE.alys",
	.summary = "Show what was traced, how, when, how much, and what was lost.",
	.opts = options,
	.options_sz = sizeof(struct info_options),
	.words_min = 1,
	.words_max = 1,
	.words = take_words,
	.run = run,
};
