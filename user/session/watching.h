/* session/watching: reports about a process while it runs: its events go into a heap, not into a file. */
#ifndef ALYS_SESSION_WATCHING_H
#define ALYS_SESSION_WATCHING_H

#include "session/options.h"

/* Exit status. */
int watching_report(const struct report_request *o, struct err *err);

#endif
