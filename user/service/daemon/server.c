/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/server: see server.h. */
#include "daemon/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "access/handover.h"
#include "base/clock.h"
#include "base/local.h"
#include "base/log.h"

#define PATIENCE_S 10 /* an idle client is disconnected after this time */
#define GROUPS_MAX 256

struct client {
	int fd; /* -1 = disconnected */
	struct ucred peer;
	bool full;
	bool asked; /* a request is being answered */
	time_t since;
	unsigned int held;
};

struct server {
	struct server_ops ops;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd;
	struct client *clients[SERVER_CLIENTS];
};

static time_t seconds(void)
{
	return (time_t)(now_ns() / 1000000000);
}

struct server *server_open(const char *path, const struct server_ops *ops, struct err *err)
{
	struct server *s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	s->ops = *ops;
	/* Anyone may connect; requests are authorized by the peer's credentials. */
	struct local_place place = {
		.path = path, .option = "--socket", .type = SOCK_SEQPACKET, .mode = 0666, .backlog = SERVER_CLIENTS
	};
	s->fd = local_listen(&place, err);
	if (s->fd < 0) {
		free(s);
		return NULL;
	}
	strcpy(s->path, path);
	return s;
}

void client_put(struct client *c)
{
	if (--c->held == 0)
		free(c);
}

struct client *client_hold(struct client *c)
{
	c->held++;
	return c;
}

static void hang_up(struct server *s, size_t i)
{
	struct client *c = s->clients[i];
	close(c->fd);
	c->fd = -1;
	s->clients[i] = NULL;
	if (c->asked)
		s->ops.gone(s->ops.ctx, c);
	client_put(c);
}

void server_close(struct server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < SERVER_CLIENTS; i++) {
		if (s->clients[i])
			hang_up(s, i);
	}
	close(s->fd);
	unlink(s->path);
	free(s);
}

/* Unused slots have fd -1, which poll ignores. */
size_t server_fds(const struct server *s, struct pollfd *out)
{
	for (size_t i = 0; i < SERVER_CLIENTS; i++)
		out[i] = (struct pollfd){ .fd = s->clients[i] ? s->clients[i]->fd : -1, .events = POLLIN };
	out[SERVER_CLIENTS] = (struct pollfd){ .fd = s->fd, .events = POLLIN };
	return SERVER_FDS;
}

/* Root and members of the daemon's group have full access. */
static bool is_member(int fd, const struct ucred *peer)
{
	gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof(groups);
	gid_t group = local_group();
	if (peer->uid == 0)
		return true;
	if (group == (gid_t)-1)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		size = 0;
	bool member = peer->gid == group;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		member |= groups[i] == group;
	return member;
}

static size_t places_of(const struct server *s, uid_t uid)
{
	size_t n = 0;
	for (size_t i = 0; i < SERVER_CLIENTS; i++)
		n += s->clients[i] && s->clients[i]->peer.uid == uid;
	return n;
}

/*
 * True if a is disconnected in preference to b. In order: clients without full access, users with most connections,
 * idle clients, older clients.
 */
static bool evicted_before(const struct server *s, const struct client *a, const struct client *b)
{
	size_t of_a = places_of(s, a->peer.uid), of_b = places_of(s, b->peer.uid);
	if (a->full != b->full)
		return b->full;
	if (of_a != of_b)
		return of_a > of_b;
	return a->asked != b->asked ? b->asked : a->since < b->since;
}

/*
 * The slot for a new client, SERVER_CLIENTS = none. No user can lock out the others by opening connections: if all
 * slots are taken, a user with more connections than the newcomer's user loses one, and clients without full access
 * yield to those with it.
 */
static size_t place_for(struct server *s, const struct client *c)
{
	size_t first = SERVER_CLIENTS, own = places_of(s, c->peer.uid) + 1;
	for (size_t i = 0; i < SERVER_CLIENTS; i++) {
		const struct client *o = s->clients[i];
		if (!o)
			return i;
		bool may = (c->full && !o->full) ||
			   (c->full == o->full && (places_of(s, o->peer.uid) > own || (o->peer.uid == c->peer.uid && !o->asked)));
		if (may && (first == SERVER_CLIENTS || evicted_before(s, o, s->clients[first])))
			first = i;
	}
	if (first < SERVER_CLIENTS)
		hang_up(s, first);
	return first;
}

static struct client *client_new(int fd)
{
	struct client *c = calloc(1, sizeof(*c));
	socklen_t size = sizeof(c->peer);
	if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &size)) {
		free(c);
		return NULL;
	}
	c->fd = fd;
	c->full = is_member(fd, &c->peer);
	c->since = seconds();
	c->held = 1;
	return c;
}

/* False if no connection is pending. */
static bool accept_client(struct server *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return false;
	struct client *c = client_new(fd);
	size_t place = c ? place_for(s, c) : SERVER_CLIENTS;
	if (place < SERVER_CLIENTS) {
		s->clients[place] = c;
		return true;
	}
	free(c);
	close(fd);
	return true;
}

/* False if the client has to be disconnected. */
static bool serve(struct server *s, struct client *c)
{
	char bytes[PROTOCOL_MAX];
	struct request r;
	struct err err;
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || c->asked || (size_t)n > sizeof(bytes))
		return false;
	c->asked = true;
	c->since = seconds();
	if (request_read(&r, bytes, (size_t)n, &err))
		server_answer(c, 2, err.text, -1);
	else
		s->ops.request(s->ops.ctx, c, &r, c->peer.uid, c->full);
	return true;
}

/* A user without full access gets one request served per round; the rest stay in the socket buffers until the next. */
static bool is_turn(const struct client *c, uid_t *served, size_t *served_cnt)
{
	if (c->full)
		return true;
	for (size_t i = 0; i < *served_cnt; i++) {
		if (served[i] == c->peer.uid)
			return false;
	}
	served[(*served_cnt)++] = c->peer.uid;
	return true;
}

void server_work(struct server *s)
{
	struct pollfd fds[SERVER_FDS];
	server_fds(s, fds);
	if (poll(fds, SERVER_FDS, 0) < 0)
		return;
	for (int i = 0; fds[SERVER_CLIENTS].revents && i < 2 * SERVER_CLIENTS && accept_client(s); i++)
		;
	time_t now = seconds();
	uid_t served[SERVER_CLIENTS];
	size_t served_cnt = 0;
	for (size_t i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = s->clients[i];
		bool asks = c && fds[i].fd == c->fd && fds[i].revents && is_turn(c, served, &served_cnt);
		bool stays = !asks || serve(s, c);
		if (!stays || (c && !c->asked && now - c->since > PATIENCE_S))
			hang_up(s, i);
	}
}

void server_answer(struct client *c, int status, const char *text, int fd)
{
	struct buf out = { 0 };
	answer_write(&out, status, text);
	int rc = c->fd < 0 || out.failed ? 0 : handover_send(c->fd, out.data, out.len, fd, MSG_DONTWAIT);
	if (rc)
		log_info("control: an answer did not arrive: %s", strerror(-rc));
	c->asked = false;
	c->since = seconds();
	buf_free(&out);
}
