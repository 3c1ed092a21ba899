/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/peer: identifies the user of a connection. In: a socket. Out: a number that is equal for all connections of one
 * local user, or of one remote address. A Unix socket has it at hand; for a local TCP connection only the kernel's
 * socket table knows, which is read for many at a time.
 */
#ifndef ALYS_HTTP_PEER_H
#define ALYS_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The user is unknown: all such count as one. */
#define PEER_UNKNOWN (1ull << 62)

struct peer {
	uint64_t who;
	bool sought;      /* who is final */
	char ends[2][40]; /* remote and local address, as in the kernel's table */
};

/* The kernel's tables, opened early: a less privileged process may be unable to. -1 = missing. */
struct peer_tables {
	int fd[2];
};

struct peer_tables peer_tables_open(void);
void peer_tables_close(struct peer_tables *t);

struct peer peer_of(int fd);
/* Looks up those that are not final. */
void peers_seek(const struct peer_tables *t, struct peer *const *peers, size_t n);

#endif
