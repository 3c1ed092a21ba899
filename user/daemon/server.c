/* daemon/server: see server.h. */
#include "daemon/server.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/handover.h"
#include "base/log.h"

#define GROUP "alys"
#define PATIENCE_S 10  /* with a client that says nothing */
#define GROUPS_MAX 256

struct client {
	int fd; /* -1: gone */
	struct ucred peer;
	bool full;
	bool asked; /* an answer is due */
	time_t since;
	unsigned int held;
};

struct server {
	struct server_ops ops;
	struct sockaddr_un address;
	int fd;
	struct client *clients[SERVER_CLIENTS];
};

static time_t seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static bool is_answered(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return yes;
}

/* What a daemon left that was killed; nothing else is touched. */
static int clear_place(const struct sockaddr_un *a, struct err *err)
{
	struct stat st;
	if (lstat(a->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, EEXIST, "%s is there and no socket: choose another place with --socket", a->sun_path);
	if (is_answered(a))
		return err_set(err, EADDRINUSE, "another alys-bpf daemon answers at %s: stop it with `alys-bpf ctl stop`, or "
						"give this one its own --socket", a->sun_path);
	return unlink(a->sun_path) ? err_set(err, errno, "cannot take over %s: %s", a->sun_path, strerror(errno)) : 0;
}

static int listen_at(struct server *s, struct err *err)
{
	int rc = clear_place(&s->address, err);
	if (rc)
		return rc;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Everybody may knock: who may do what is asked of the kernel for each. */
	mode_t mask = umask(0);
	if (s->fd < 0 || bind(s->fd, (const struct sockaddr *)&s->address, sizeof(s->address)) ||
	    chmod(s->address.sun_path, 0666) || listen(s->fd, SERVER_CLIENTS))
		rc = err_set(err, errno, "cannot listen at %s: %s", s->address.sun_path, strerror(errno));
	umask(mask);
	return rc;
}

struct server *server_open(const char *path, const struct server_ops *ops, struct err *err)
{
	struct server *s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	s->ops = *ops;
	s->fd = -1;
	s->address.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(s->address.sun_path)) {
		err_set(err, ENAMETOOLONG, "--socket %s is longer than a socket's path may be", path);
		free(s);
		return NULL;
	}
	strcpy(s->address.sun_path, path);
	if (!listen_at(s, err))
		return s;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	return NULL;
}

void client_let_go(struct client *c)
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
	client_let_go(c);
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
	unlink(s->address.sun_path);
	free(s);
}

/* A free place has -1, which poll passes over. */
size_t server_fds(const struct server *s, struct pollfd *out)
{
	for (size_t i = 0; i < SERVER_CLIENTS; i++)
		out[i] = (struct pollfd){ .fd = s->clients[i] ? s->clients[i]->fd : -1, .events = POLLIN };
	out[SERVER_CLIENTS] = (struct pollfd){ .fd = s->fd, .events = POLLIN };
	return SERVER_FDS;
}

/* Members of the group may do what root may. */
static bool is_member(int fd, const struct ucred *peer)
{
	gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof(groups);
	const struct group *g = getgrnam(GROUP);
	if (peer->uid == 0)
		return true;
	if (!g)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		size = 0;
	bool member = peer->gid == g->gr_gid;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		member |= groups[i] == g->gr_gid;
	return member;
}

/*
 * Strangers that say nothing cannot keep out whoever may do everything: the one that has been there for longest makes
 * room. SERVER_CLIENTS: there is none.
 */
static size_t place_for(struct server *s, const struct client *c)
{
	size_t longest = SERVER_CLIENTS;
	for (size_t i = 0; i < SERVER_CLIENTS; i++) {
		const struct client *o = s->clients[i];
		if (!o)
			return i;
		if (c->full && !o->full && !o->asked && (longest == SERVER_CLIENTS || o->since < s->clients[longest]->since))
			longest = i;
	}
	if (longest < SERVER_CLIENTS)
		hang_up(s, longest);
	return longest;
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

/* False when there is nobody. */
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

/* False when the client is to go. */
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

void server_work(struct server *s)
{
	struct pollfd fds[SERVER_FDS];
	server_fds(s, fds);
	if (poll(fds, SERVER_FDS, 0) < 0)
		return;
	for (int i = 0; fds[SERVER_CLIENTS].revents && i < 2 * SERVER_CLIENTS && accept_client(s); i++)
		;
	time_t now = seconds();
	for (size_t i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = s->clients[i];
		bool stays = !c || fds[i].fd != c->fd || !fds[i].revents || serve(s, c);
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
