/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/hire: starts a process for one task (worker.h, fetch.h) with a socket to it, and ends it. */
#ifndef ALYS_DWARF_HIRE_H
#define ALYS_DWARF_HIRE_H

#include <sys/types.h>

struct hired {
	pid_t pid; /* 0: none */
	int sock;
};

#define HIRE_SOCKET 3 /* where the process finds its end */

/*
 * program NULL: this one; under that name as its only argument it finds its task before its main().
 * 0 or -errno.
 */
int hire(struct hired *h, const char *program, const char *name);
/* At once, whatever it is doing; it has nothing to lose. */
void hire_end(struct hired *h);

#endif
