/* SPDX-License-Identifier: Apache-2.0 */
/* http/peer: see peer.h. */
#include "http/peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS (1ull << 63)
#define PIECE 16384

union end {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct peer_tables peer_tables_open(void)
{
	return (struct peer_tables){ { open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC),
				       open("/proc/self/net/tcp6", O_RDONLY | O_CLOEXEC) } };
}

void peer_tables_close(struct peer_tables *t)
{
	for (int i = 0; i < 2; i++) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
		t->fd[i] = -1;
	}
}

static void print_end(const union end *e, char *out, size_t cap)
{
	const uint32_t *a = e->v6.sin6_addr.s6_addr32;
	if (e->any.sa_family == AF_INET)
		snprintf(out, cap, "%08X:%04X", e->v4.sin_addr.s_addr, ntohs(e->v4.sin_port));
	else
		snprintf(out, cap, "%08X%08X%08X%08X:%04X", a[0], a[1], a[2], a[3], ntohs(e->v6.sin6_port));
}

static bool is_of_this_machine(const union end *theirs, const union end *ours)
{
	if (theirs->any.sa_family == AF_INET)
		return ntohl(theirs->v4.sin_addr.s_addr) >> 24 == 127 || theirs->v4.sin_addr.s_addr == ours->v4.sin_addr.s_addr;
	return IN6_IS_ADDR_LOOPBACK(&theirs->v6.sin6_addr) || IN6_ARE_ADDR_EQUAL(&theirs->v6.sin6_addr, &ours->v6.sin6_addr);
}

/* For IPv6 the /64 network: a machine can use any number of addresses in it. */
static uint64_t address_of(const union end *e)
{
	uint64_t net;
	if (e->any.sa_family == AF_INET)
		return ADDRESS | e->v4.sin_addr.s_addr;
	memcpy(&net, &e->v6.sin6_addr, sizeof(net));
	return ADDRESS | net;
}

struct peer peer_of(int fd)
{
	struct peer p = { .who = PEER_UNKNOWN, .sought = true };
	struct ucred cred;
	union end theirs = { 0 }, ours = { 0 };
	socklen_t cred_sz = sizeof(cred), theirs_sz = sizeof(theirs), ours_sz = sizeof(ours);
	if (getpeername(fd, &theirs.any, &theirs_sz) || getsockname(fd, &ours.any, &ours_sz))
		return p;
	if (ours.any.sa_family == AF_UNIX) {
		if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_sz))
			p.who = cred.uid;
		return p;
	}
	if (!is_of_this_machine(&theirs, &ours)) {
		p.who = address_of(&theirs);
		return p;
	}
	print_end(&theirs, p.ends[0], sizeof(p.ends[0]));
	print_end(&ours, p.ends[1], sizeof(p.ends[1]));
	p.sought = false;
	return p;
}

/* A socket whose process has exited is listed with inode 0 and uid 0: not its real user. */
static void match(char *line, struct peer *const *peers, size_t n)
{
	char ends[2][40];
	unsigned int uid;
	unsigned long inode;
	if (sscanf(line, " %*[0-9]: %39s %39s %*s %*s %*s %*s %u %*s %lu", ends[0], ends[1], &uid, &inode) != 4 || !inode)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!peers[i]->sought && !strcmp(ends[0], peers[i]->ends[0]) && !strcmp(ends[1], peers[i]->ends[1]))
			peers[i]->who = uid;
	}
}

static void seek_in(int fd, struct peer *const *peers, size_t n)
{
	char text[PIECE + 1], *line, *end;
	size_t have = 0;
	ssize_t got;
	if (fd < 0 || lseek(fd, 0, SEEK_SET))
		return;
	while ((got = read(fd, text + have, PIECE - have)) > 0) {
		have += (size_t)got;
		text[have] = 0;
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			match(line, peers, n);
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
	}
}

void peers_seek(const struct peer_tables *t, struct peer *const *peers, size_t n)
{
	bool any[2] = { false, false };
	for (size_t i = 0; i < n; i++)
		any[strlen(peers[i]->ends[0]) > 13] |= !peers[i]->sought;
	for (int i = 0; i < 2; i++) {
		if (any[i])
			seek_in(t->fd[i], peers, n);
	}
	for (size_t i = 0; i < n; i++)
		peers[i]->sought = true;
}
