/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ending: see ending.h. */
#include "recorder/ending.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static enum ending by_signal(int number)
{
	switch (number) {
	case SIGABRT: return ENDING_ABORT;
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGSYS:
	case SIGTRAP: return ENDING_CRASH;
	default: return ENDING_KILLED;
	}
}

enum ending ending_of(const struct event *e)
{
	int status = (int)e->size;
	if (e->kind == EVENT_EXEC)
		return ENDING_EXEC;
	if (e->flags & EVENT_F_OUT_OF_MEMORY)
		return ENDING_OUT_OF_MEMORY;
	return e->flags & EVENT_F_STATUS && WIFSIGNALED(status) ? by_signal(WTERMSIG(status)) : ENDING_EXIT;
}

const char *ending_name(enum ending why)
{
	static const char *const names[] = {
		[ENDING_EXIT] = "exit",     [ENDING_EXEC] = "exec",   [ENDING_OUT_OF_MEMORY] = "out-of-memory",
		[ENDING_LEFT] = "left",     [ENDING_CRASH] = "crash", [ENDING_ABORT] = "abort",
		[ENDING_KILLED] = "killed",
	};
	return names[why];
}

void ending_text(const struct event *e, struct buf *out)
{
	int status = (int)e->size;
	if (!(e->flags & EVENT_F_STATUS))
		return;
	buf_adds(out, ending_name(ending_of(e)));
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
	if (name)
		buf_addf(out, ", SIG%s", name);
	else if (WIFSIGNALED(status))
		buf_addf(out, ", signal %d", WTERMSIG(status));
	else
		buf_addf(out, ", status %d", WEXITSTATUS(status));
}
