/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch/command: starts `-- CMD ARGS` and holds it until its allocators are probed, so that the
 * first allocation is seen. It is our own child: nobody else's process is ever stopped.
 */
#ifndef ALYS_LAUNCH_COMMAND_H
#define ALYS_LAUNCH_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct command {
	const char *name;  /* the caller's: argv[0] */
	bool stdout_taken; /* standard output is for us: what it prints there goes to standard error */
	int pid;           /* 0 = none, or it has ended */
	int status;        /* when it has ended: as command_status */
};

/* Stopped at its first instruction, nothing of its libraries mapped yet. */
int command_spawn(struct command *c, char **argv, struct err *err);
struct command_ops {
	void *ctx;
	void (*mapped)(void *ctx);
	/* Is the start of programs in it? Nothing is read here of the program's files. */
	bool (*is_c_library)(void *ctx, int fd, const char *path);
};

/*
 * Runs it until the dynamic linker hands over; after each library that was mapped, mapped() is called
 * while the program stands still. Constructors run later, so every allocation comes after its probe.
 * -ENOENT: it ended before that.
 */
int command_release(struct command *c, const struct command_ops *ops, struct err *err);
/* Until it has ended, or `signals` (a signalfd) has something. */
void command_await(const struct command *c, int signals);
/* Its exit status as a shell would show it; -1 while it runs, or when there is none. */
int command_status(struct command *c);
void command_kill(struct command *c);

#endif
