/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/landlock: drops rights to files, TCP and other processes, for this process and its children, irrevocably. */
#ifndef ALYS_SANDBOX_LANDLOCK_H
#define ALYS_SANDBOX_LANDLOCK_H

#include <stddef.h>

enum {
	LANDLOCK_READ = 1,   /* and map; does not include listing directories */
	LANDLOCK_WRITE = 2,  /* existing files */
	LANDLOCK_CHANGE = 4, /* and create, rename and remove */
	LANDLOCK_LIST = 8,
	LANDLOCK_ALL =
		16, /* where the kernel has it: TCP from Linux 6.7, signals and abstract sockets to other processes from 6.12 */
};

/* A place where rights are kept: below a path or an open directory; one that does not exist (NULL, -1) is ignored. */
struct landlock_place {
	const char *path;
	int dir_fd;
	unsigned int left;
};

/*
 * `taken` and each `left` are of the above. no_new_privs must be set. 1: done; 0: this kernel has no landlock; or
 * -errno.
 */
int landlock_take(unsigned int taken, const struct landlock_place *places, size_t cnt);

#endif
