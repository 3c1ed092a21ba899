/* SPDX-License-Identifier: Apache-2.0 */
/* access/handover: sends and receives packets over a SOCK_SEQPACKET Unix socket, each with at most one descriptor. */
#ifndef ALYS_ACCESS_HANDOVER_H
#define ALYS_ACCESS_HANDOVER_H

#include <stddef.h>
#include <sys/types.h>

/* fd -1: no descriptor is sent; fd stays the caller's. flags: as for sendmsg. 0 or -errno. */
int handover_send(int sock, const void *bytes, size_t n, int fd, int flags);
/*
 * The packet's size, 0 at end of file, or -errno (-EBADMSG: longer than cap). *fd: the descriptor received, now owned
 * by the caller, or -1; fd NULL: none is expected. Unexpected descriptors are closed.
 */
ssize_t handover_receive(int sock, void *bytes, size_t cap, int *fd);

#endif
