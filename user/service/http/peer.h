/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/peer: whose a connection is. In: a socket. Out: a number that is the same for all connections of one user of this
 * machine, or of one address elsewhere. A unix socket tells it at once; of a TCP connection from this machine only the
 * kernel's table of sockets knows it, which is read for many at a time.
 */
#ifndef ALYS_HTTP_PEER_H
#define ALYS_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The user could not be found out: all such are one. */
#define PEER_UNKNOWN (1ull << 62)

struct peer {
	uint64_t who;
	bool sought;      /* who is final */
	char ends[2][40]; /* theirs and ours, as the kernel's table has them */
};

/* The kernel's tables, open: whoever has less rights later may be unable to open them. -1 = there is none. */
struct peer_tables {
	int fd[2];
};

struct peer_tables peer_tables_open(void);
void peer_tables_close(struct peer_tables *t);

struct peer peer_of(int fd);
/* Seeks those that are not final. */
void peers_seek(const struct peer_tables *t, struct peer *const *peers, size_t n);

#endif
