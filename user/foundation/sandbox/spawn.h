/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/spawn: starts a process for one task, connected by a socket, and ends it. */
#ifndef ALYS_SANDBOX_SPAWN_H
#define ALYS_SANDBOX_SPAWN_H

#include <sys/types.h>

struct spawned {
	pid_t pid; /* 0: none */
	int sock;
};

#define WORKER_SOCKET 3 /* descriptor of the socket in the process */

/* program NULL: this one. name is its only argument, by which it finds its task before main(). 0 or -errno. */
int spawn_worker(struct spawned *h, const char *program, const char *name);
/* Kills it immediately; it holds no state. */
void spawn_end(struct spawned *h);

#endif
