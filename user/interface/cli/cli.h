/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: argv in, a verb's exit status out. One table of options drives parsing, --help, man pages and completions; verbs
 * are a table, too. Does not know how verbs do their work.
 */
#ifndef ALYS_CLI_H
#define ALYS_CLI_H

int cli_main(int argc, char **argv);

#endif
