/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/landlock: takes this process, and all it starts, rights on files, TCP and other processes, for good. */
#ifndef ALYS_SANDBOX_LANDLOCK_H
#define ALYS_SANDBOX_LANDLOCK_H

#include <stddef.h>

enum {
	LANDLOCK_READ = 1,   /* and map; listing directories is not reading */
	LANDLOCK_WRITE = 2,  /* what is there */
	LANDLOCK_CHANGE = 4, /* and make, rename and remove */
	LANDLOCK_LIST = 8,
	LANDLOCK_ALL =
		16, /* of what this kernel knows; from Linux 6.7 on TCP, from 6.12 on signals and abstract sockets to processes without */
};

/* Where some of it is left: below a path, or an open directory; one that is not there (NULL, -1) is passed over. */
struct landlock_place {
	const char *path;
	int dir_fd;
	unsigned int left;
};

/*
 * `taken` and each `left` are of the above. No new privileges must be set. 1: done; 0: this kernel has no landlock;
 * or -errno.
 */
int landlock_take(unsigned int taken, const struct landlock_place *places, size_t cnt);

#endif
