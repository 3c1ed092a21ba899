/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/server: the control socket: who may ask, and one packet in, one out. In: connections. Out: checked
 * requests with what their senders may do. Executes nothing. One thread; slow clients are dropped.
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
	/* One request; server_answer(client) now or later. uid is the sender's; full: it may do everything. */
	void (*request)(void *ctx, struct client *c, const struct request *r, uid_t uid, bool full);
	/* Hung up before its answer came. */
	void (*gone)(void *ctx, const struct client *c);
};

/* Refuses a path where another daemon answers; takes over one where nobody does. */
struct server *server_open(const char *path, const struct server_ops *ops, struct err *err);
void server_close(struct server *s);
size_t server_fds(const struct server *s, struct pollfd *out);
void server_work(struct server *s);
/* fd -1 = none goes along; it stays the caller's. */
void server_answer(struct client *c, int status, const char *text, int fd);
/* For an answer that comes later: the client may be gone by then, and the answer goes nowhere. */
struct client *client_hold(struct client *c);
void client_let_go(struct client *c);

#endif
