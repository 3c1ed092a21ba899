/* SPDX-License-Identifier: Apache-2.0 */
/* cli/verb_list: all verbs; each is defined in VERB_options.c. */
#ifndef ALYS_CLI_VERB_LIST_H
#define ALYS_CLI_VERB_LIST_H

#include "cli/opts.h"

extern const struct verb verb_record, verb_convert, verb_report, verb_diff, verb_info, verb_doctor;
extern const struct verb verb_daemon, verb_ctl, verb_top, verb_census, verb_graph, verb_dump;

/* Parses "1,2,3" into the pids of a struct record_options (dest: that field); the option may be repeated. */
int record_pids(const struct opt *o, const char *text, void *dest, struct err *err);

#endif
