/* cli/verbs: one row a verb; each is defined in the file of its name. */
#ifndef ALYS_CLI_VERBS_H
#define ALYS_CLI_VERBS_H

#include "cli/opts.h"

extern const struct verb verb_record, verb_convert, verb_report, verb_diff, verb_info, verb_doctor, verb_daemon, verb_ctl, verb_top, verb_census, verb_graph, verb_dump;

#endif
