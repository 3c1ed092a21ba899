/*
 * session/command: starts `-- CMD ARGS` and holds it until its allocators are probed, so that the
 * first allocation is seen. It is our own child: nobody else's process is ever stopped.
 */
#ifndef ALYS_SESSION_COMMAND_H
#define ALYS_SESSION_COMMAND_H

#include <stdint.h>

#include "base/err.h"

struct command {
	int pid; /* 0 = none */
};

/* Stopped at its first instruction, nothing of its libraries mapped yet. */
int command_spawn(struct command *c, char **argv, struct err *err);
/*
 * Runs it until the dynamic linker hands over; after each library that was mapped, mapped() is called
 * while the program stands still. Constructors run later, so every allocation comes after its probe.
 */
int command_release(struct command *c, void (*mapped)(void *ctx), void *ctx, struct err *err);
/* Its exit status as a shell would show it; -1 while it runs. */
int command_status(struct command *c);
void command_kill(struct command *c);

#endif
