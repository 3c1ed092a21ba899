/* SPDX-License-Identifier: Apache-2.0 */
/* cli/ctl_options: `alys-bpf ctl VERB`: controls a running daemon. */
#include "cli/verb_list.h"

#include "daemon/ctl.h"

#define AT(field) offsetof(struct ctl_options, field)

static const struct opt options[] = {
	{ "socket", 0, "PATH", opt_text, AT(socket), NULL, NULL, "the daemon's control socket (default /run/alys-bpf/ctl)" },
	{ "output", 'o', "FILE", opt_text, AT(output), NULL, NULL,
	  "where a snapshot goes (default: stdout, on a terminal PID.pb.gz)" },
	{ "force", 0, NULL, opt_flag, AT(force), NULL, NULL, "replace an existing output file" },
	{ "timeout", 0, "SECONDS", opt_seconds, AT(patience), NULL, NULL, "how long to wait for the answer (default 30)" },
	{ 0 },
};

static int take_words(void *opts, int n, char **words, char **command, struct err *err)
{
	struct ctl_options *o = opts;
	(void)command, (void)err;
	for (int i = 0; i < n; i++)
		o->words[o->words_cnt++] = words[i];
	return 0;
}

static const struct ctl_options defaults = { .patience = 30 };

static int run(void *opts, struct err *err)
{
	return ctl_run(opts, err);
}

const struct verb verb_ctl = {
	.name = "ctl",
	.usage = "ctl [OPTIONS] status|on|off|add PID|remove PID|sample bytes:N|\n"
		 "                    snapshot [PID|all [FORMAT]]|rotate|stop",
	.summary = "Ask a running daemon, or change what it does.",
	.opts = options,
	.options_sz = sizeof(struct ctl_options),
	.defaults = &defaults,
	.words_min = 1,
	.words_max = 4,
	.words = take_words,
	.run = run,
	.notes = "Root and members of the group alys may do everything, others only what\n"
		 "concerns their own processes.",
};
