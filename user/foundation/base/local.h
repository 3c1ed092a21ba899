/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/local: a unix socket that listens at a path. What a process left that was killed is taken over; a place where
 * somebody answers is not, and nothing but a socket is ever removed.
 */
#ifndef ALYS_BASE_LOCAL_H
#define ALYS_BASE_LOCAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct local_place {
	const char *path;
	const char *option; /* that gives it, for messages */
	int type;           /* SOCK_STREAM, SOCK_SEQPACKET */
	mode_t mode;        /* 0660: for the group, where it can be given to it; else for the user alone */
	int backlog;
};

/* The group whose members may do with the daemon what root may; -1: there is none. */
gid_t local_group(void);
/* A descriptor that does not block, or -errno. */
int local_listen(const struct local_place *p, struct err *err);

#endif
