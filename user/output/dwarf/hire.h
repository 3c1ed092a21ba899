/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/hire: starts a process for one task (worker.h, fetch.h), connected by a socket, and ends it. */
#ifndef ALYS_DWARF_HIRE_H
#define ALYS_DWARF_HIRE_H

#include <sys/types.h>

struct hired {
	pid_t pid; /* 0: none */
	int sock;
};

#define HIRE_SOCKET 3 /* descriptor of the socket in the process */

/* program NULL: this one. name is its only argument, by which it finds its task before main(). 0 or -errno. */
int hire(struct hired *h, const char *program, const char *name);
/* Kills it immediately; it holds no state. */
void hire_end(struct hired *h);

#endif
