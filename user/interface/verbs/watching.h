/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/watching: reports about a running process: events go into a heap, not into a file. */
#ifndef ALYS_VERBS_WATCHING_H
#define ALYS_VERBS_WATCHING_H

#include "verbs/verbs.h"

/* Exit status. */
int watching_report(const struct report_request *o, struct err *err);

#endif
