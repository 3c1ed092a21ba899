/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ending: why a process is no more, as the kernel told. */
#ifndef ALYS_RECORDER_ENDING_H
#define ALYS_RECORDER_ENDING_H

#include "base/buf.h"
#include "event/event.h"

enum ending {
	ENDING_EXIT,
	ENDING_EXEC,
	ENDING_OUT_OF_MEMORY,
	ENDING_LEFT, /* the daemon let it go */
	ENDING_CRASH,
	ENDING_ABORT,
	ENDING_KILLED, /* by a signal that says nothing of the program */
	ENDING_CNT,
};

/* Of an EVENT_EXEC or EVENT_EXIT; without a status an exit is one like others. */
enum ending ending_of(const struct event *e);
const char *ending_name(enum ending why);
/* "exit, status 3", "crash, SIGSEGV"; nothing when the event has no status. */
void ending_text(const struct event *e, struct buf *out);

#endif
