/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ending: why a process ended, as reported by the kernel. */
#ifndef ALYS_RECORDER_ENDING_H
#define ALYS_RECORDER_ENDING_H

#include "base/buf.h"
#include "event/event.h"

enum ending {
	ENDING_EXIT,
	ENDING_EXEC,
	ENDING_OUT_OF_MEMORY,
	ENDING_LEFT, /* dropped by the daemon */
	ENDING_CRASH,
	ENDING_ABORT,
	ENDING_KILLED, /* by a signal that is not the program's fault */
	ENDING_CNT,
};

/* For EVENT_EXEC and EVENT_EXIT; an exit without a status counts as normal. */
enum ending ending_of(const struct event *e);
const char *ending_name(enum ending why);
/* "exit, status 3", "crash, SIGSEGV"; nothing if the event has no status. */
void ending_text(const struct event *e, struct buf *out);

#endif
