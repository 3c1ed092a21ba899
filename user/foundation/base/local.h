/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/local: a Unix socket that listens at a path. A socket left by a killed process is replaced; one that still
 * answers after a second is not. Only sockets are ever removed.
 */
#ifndef ALYS_BASE_LOCAL_H
#define ALYS_BASE_LOCAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct local_place {
	const char *path;
	const char *option; /* option that names it, for messages */
	int type;           /* SOCK_STREAM, SOCK_SEQPACKET */
	mode_t mode;        /* 0660: for the group, if it can be given to it; else for the user only */
	int backlog;
};

/* The group whose members may do everything that root may with the daemon; -1: none. */
gid_t local_group(void);
/* A non-blocking descriptor, or -errno. */
int local_listen(const struct local_place *p, struct err *err);

#endif
