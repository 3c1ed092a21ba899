/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/handover: whole packets over a Unix socket of them (SOCK_SEQPACKET), at most one descriptor with each.
 */
#ifndef ALYS_ACCESS_HANDOVER_H
#define ALYS_ACCESS_HANDOVER_H

#include <stddef.h>
#include <sys/types.h>

/* fd -1: none goes along; it stays the caller's. flags: as of sendmsg. 0 or -errno. */
int handover_send(int sock, const void *bytes, size_t n, int fd, int flags);
/*
 * The packet's size, 0 at the end of the talk, or -errno (-EBADMSG: longer than cap). *fd is the descriptor that
 * came along, now the caller's, or -1; fd NULL: none is wanted. Others than that are closed.
 */
ssize_t handover_receive(int sock, void *bytes, size_t cap, int *fd);

#endif
