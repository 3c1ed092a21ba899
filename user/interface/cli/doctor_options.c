/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_options: `alys-bpf doctor`. */
#include "cli/verb_list.h"

#include "cli/table_options.h"
#include "verbs/verbs.h"

#define AT(field) offsetof(struct doctor_options, field)

static const struct opt options[] = {
	{ "probes", 0, "PID", opt_count, AT(probes_pid), NULL, NULL, "list where this process would be probed, and why" },
	OWN_OPTIONS(AT, "with --probes: "),
	{ "unwind", 0, "FILE", opt_text, AT(unwind), NULL, NULL, "print the unwind rows of a program or library" },
	{ 0 },
};

static int run(void *opts, struct err *err)
{
	return run_doctor(opts, err);
}

const struct verb verb_doctor = {
	.name = "doctor",
	.usage = "doctor [OPTIONS]",
	.summary = "Show what this kernel and this user can do, which kind of probe is used, and what is missing.",
	.opts = options,
	.options_sz = sizeof(struct doctor_options),
	.run = run,
};
