/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/server: the control socket: authorization, and one packet in, one out. In: connections. Out: checked requests
 * with the permissions of their senders. Executes nothing. Single-threaded; slow clients are dropped.
 */
#ifndef ALYS_DAEMON_SERVER_H
#define ALYS_DAEMON_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "daemon/protocol.h"

#define SERVER_CLIENTS 16
#define SERVER_FDS (SERVER_CLIENTS + 1)

struct server;
struct client;

struct server_ops {
	void *ctx;
	/* A request; call server_answer(client) now or later. uid is the sender's; full: it may do everything. */
	void (*request)(void *ctx, struct client *c, const struct request *r, uid_t uid, bool full);
	/* The client disconnected before its answer. */
	void (*gone)(void *ctx, const struct client *c);
};

/* Refuses a path on which another daemon answers; replaces a stale socket. */
struct server *server_open(const char *path, const struct server_ops *ops, struct err *err);
void server_close(struct server *s);
size_t server_fds(const struct server *s, struct pollfd *out);
void server_work(struct server *s);
/* fd -1 = none is sent; it stays the caller's. */
void server_answer(struct client *c, int status, const char *text, int fd);
/* For a deferred answer: the client may have disconnected by then, and the answer is dropped. */
struct client *client_hold(struct client *c);
void client_put(struct client *c);

#endif
