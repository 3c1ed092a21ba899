/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: argv in, a verb's exit status out. One table of options makes parsing, --help, the man page
 * and the completions; verbs are a table too. Knows nothing of how the verbs do their work.
 */
#ifndef ALYS_CLI_H
#define ALYS_CLI_H

int cli_main(int argc, char **argv);

#endif
