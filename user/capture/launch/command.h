/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch/command: starts `-- CMD ARGS` and holds it until its allocators are probed, so that the first allocation is
 * seen. It is our own child: no other process is ever stopped.
 */
#ifndef ALYS_LAUNCH_COMMAND_H
#define ALYS_LAUNCH_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct command {
	const char *name;  /* owned by the caller: argv[0] */
	bool stdout_taken; /* standard output is ours: the command's goes to standard error */
	int pid;           /* 0 = none, or it has exited */
	int status;        /* after it has exited: see command_status */
};

/* Stopped at its first instruction, before any library is mapped. */
int command_spawn(struct command *c, char **argv, struct err *err);
struct command_ops {
	void *ctx;
	void (*mapped)(void *ctx);
	/* Does the file contain the program start code? No file of the program is read here. */
	bool (*is_c_library)(void *ctx, int fd, const char *path);
};

/*
 * Runs it until the dynamic linker hands over; after each library is mapped, mapped() is called while the program is
 * stopped. Constructors run later, so every allocation comes after its probe. -ENOENT: it exited before that.
 */
int command_release(struct command *c, const struct command_ops *ops, struct err *err);
/* Waits until it has exited or `signals` (a signalfd) is readable. */
void command_await(const struct command *c, int signals);
/* Its exit status as a shell reports it; -1 while it runs, or if there is none. */
int command_status(struct command *c);
void command_kill(struct command *c);

#endif
