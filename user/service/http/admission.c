/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/admission: accepts connections. A client is kept here until its request head is complete and within limits; only then
 * it is passed to libmicrohttpd. If all slots are taken, the user with most connections loses one, so slow, idle and greedy
 * clients harm only their own user.
 *
 *   accept -> arrives -> asks (libmicrohttpd) -> gone
 *                   \-> refused ->               leaves -/
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/exchange.h"

/* Time limit for receiving a request. */
#define TIMEOUT_NS 10000000000ull
/* Time limit for a refused client to read the response. */
#define FAREWELL_NS 1000000000ull
#define TICK_MS 200
#define EVENTS 64
/* Up to this many connections, their users are not looked up. */
#define FEW 4
/* Before retrying accept when out of descriptors. */
#define PAUSE_NS 20000000
/* Values of epoll's data; below these are client slots. */
enum { OF_LISTENER = HTTP_PLACES, OF_LIBRARY, OF_STIR };

void admission_wake(struct http *h)
{
	uint64_t one = 1;
	if (write(h->admission_wake_fd, &one, sizeof(one)) < 0)
		return; /* counter full: the wakeup is pending already */
}

static int watch(const struct http *h, int fd, uint32_t events, uint32_t of)
{
	struct epoll_event e = { .events = events, .data.u32 = of };
	return epoll_ctl(h->admission_epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

/* --- making room: client state is changed by this thread only, with the lock held ----------------- */

static bool is_counted(const struct client *c)
{
	return c->state == CLIENT_ARRIVES || c->state == CLIENT_REFUSED || c->state == CLIENT_ASKS;
}

static void hang_up(struct http *h, struct client *c)
{
	h->clients_cnt -= is_counted(c);
	if (c->state == CLIENT_ASKS) {
		/* libmicrohttpd owns the descriptor, and the owner may be working on the request: both notice the shutdown. */
		shutdown(c->fd, SHUT_RDWR);
		c->state = CLIENT_LEAVES;
		return;
	}
	close(c->fd);
	c->state = CLIENT_NONE;
}

static void seek_users(struct http *h)
{
	struct peer *unknown[HTTP_PLACES];
	size_t n = 0;
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		if (is_counted(&h->clients[i]) && !h->clients[i].peer.sought)
			unknown[n++] = &h->clients[i].peer;
	}
	if (n)
		peers_seek(&h->listener->peers, unknown, n);
}

static size_t places_of(const struct http *h, uint64_t who)
{
	size_t n = 0;
	for (size_t i = 0; i < HTTP_PLACES; i++)
		n += is_counted(&h->clients[i]) && h->clients[i].peer.who == who;
	return n;
}

/* Order of disconnection: idle clients, clients reading a response, clients waiting for one; of the last the newest first. */
static bool evicted_before(const struct client *a, const struct client *b)
{
	int rank_a = a->state != CLIENT_ASKS ? 0
		     : a->answered           ? 1
					     : 2,
	    rank_b = b->state != CLIENT_ASKS ? 0
		     : b->answered           ? 1
					     : 2;
	if (rank_a != rank_b)
		return rank_a < rank_b;
	return rank_a == 2 ? a->since_ns > b->since_ns : a->since_ns < b->since_ns;
}

static void make_room(struct http *h)
{
	struct client *worst = NULL;
	size_t most = 0;
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		struct client *c = &h->clients[i];
		size_t n = is_counted(c) ? places_of(h, c->peer.who) : 0;
		if (n > most || (n && n == most && evicted_before(c, worst))) {
			worst = c;
			most = n;
		}
	}
	if (worst) {
		hang_up(h, worst);
		h->gave_way++;
	}
}

/* --- arriving ---------------------------------------------------------------------------------- */

static void place(struct http *h, int fd)
{
	size_t i = 0;
	while (i < HTTP_PLACES && h->clients[i].state != CLIENT_NONE)
		i++;
	if (i == HTTP_PLACES || watch(h, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, (uint32_t)i)) {
		close(fd);
		return;
	}
	uint64_t now = now_ns();
	h->clients[i] = (struct client){
		.state = CLIENT_ARRIVES, .fd = fd, .since_ns = now, .deadline_ns = now + TIMEOUT_NS, .peer = peer_of(fd)
	};
	h->clients_cnt++;
}

static void let_in(struct http *h)
{
	int fd = 0;
	for (int i = 0; i < EVENTS && fd >= 0; i++) {
		fd = accept4(h->listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		pthread_mutex_lock(&h->lock);
		if (fd >= 0)
			place(h, fd);
		pthread_mutex_unlock(&h->lock);
	}
	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	if (h->clients_cnt > FEW)
		seek_users(h); /* slow: not under the lock, which the owner needs */
	pthread_mutex_lock(&h->lock);
	while (h->clients_cnt > HTTP_CLIENTS)
		make_room(h);
	pthread_mutex_unlock(&h->lock);
	http_wake(h); /* starts the owner's timer, which detects disconnected clients */
}

/* Written directly to the socket: libmicrohttpd must not see a malformed or oversized request. */
static void refuse(struct http *h, struct client *c, unsigned int status, const char *why)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
			 "Content-Length: %zu\r\n\r\n%s\n",
			 status, status == 400 ? "Bad Request" : "Too Large", strlen(why) + 1, why);
	pthread_mutex_lock(&h->lock);
	http_count_sent(h, status);
	c->state = CLIENT_REFUSED;
	c->deadline_ns = now_ns() + FAREWELL_NS;
	pthread_mutex_unlock(&h->lock);
	send(c->fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(c->fd, SHUT_WR);
}

static void pass_to_mhd(struct http *h, struct client *c)
{
	struct sockaddr_storage from = { .ss_family = AF_UNIX };
	socklen_t size = sizeof(from);
	getpeername(c->fd, (struct sockaddr *)&from, &size);
	epoll_ctl(h->admission_epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	pthread_mutex_lock(&h->lock);
	c->state = CLIENT_ASKS;
	pthread_mutex_unlock(&h->lock);
	if (MHD_add_connection(h->mhd, c->fd, (const struct sockaddr *)&from, size) == MHD_YES)
		return;
	/* On failure, libmicrohttpd has closed the descriptor. */
	pthread_mutex_lock(&h->lock);
	h->clients_cnt -= is_counted(c);
	c->state = CLIENT_NONE;
	pthread_mutex_unlock(&h->lock);
}

static void drop(struct http *h, struct client *c)
{
	pthread_mutex_lock(&h->lock);
	hang_up(h, c);
	pthread_mutex_unlock(&h->lock);
}

static void read_head(struct http *h, struct client *c, uint32_t events)
{
	char head[REQUEST_HEAD_MAX];
	struct err err = { 0 };
	bool whole;
	ssize_t n = recv(c->fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		n = 0;
	unsigned int status = n > 0 ? request_head(head, (size_t)n, &whole, &err) : 0;
	if (status)
		refuse(h, c, status, err.text);
	else if (n > 0 && whole)
		pass_to_mhd(h, c);
	else if (n < 0 || events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		drop(h, c);
}

/* Reads the rest of the request: closing with unread data would send a reset, and the response could be lost. */
static void drain_refused(struct http *h, struct client *c, uint32_t events)
{
	char rest[REQUEST_HEAD_MAX];
	ssize_t n = 1;
	for (int i = 0; n > 0 && i < EVENTS; i++)
		n = recv(c->fd, rest, sizeof(rest), MSG_DONTWAIT);
	if (!n || events & (EPOLLHUP | EPOLLERR) || (n < 0 && errno != EAGAIN))
		drop(h, c);
}

static void serve(struct http *h, struct client *c, uint32_t events)
{
	if (c->state == CLIENT_ARRIVES)
		read_head(h, c, events);
	if (c->state == CLIENT_REFUSED)
		drain_refused(h, c, events);
}

/* Disconnects clients whose deadline has passed. */
static void sweep(struct http *h)
{
	uint64_t now = now_ns();
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		struct client *c = &h->clients[i];
		if (!is_counted(c) || !c->deadline_ns || now < c->deadline_ns)
			continue;
		h->timed_out += c->state != CLIENT_REFUSED;
		hang_up(h, c);
	}
	pthread_mutex_unlock(&h->lock);
}

/* --- the thread -------------------------------------------------------------------------------- */

static bool goes_on(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	bool on = !h->ending;
	pthread_mutex_unlock(&h->lock);
	return on;
}

static int patience(const struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;
	if (MHD_get_timeout(h->mhd, &ms) == MHD_YES && ms < TICK_MS)
		return (int)ms;
	return h->clients_cnt ? TICK_MS : -1;
}

void *admission_run(void *arg)
{
	struct http *h = arg;
	struct epoll_event events[EVENTS];
	uint64_t n, swept_ns = 0;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	watch(h, h->listener->fd, EPOLLIN, OF_LISTENER);
	watch(h, h->admission_wake_fd, EPOLLIN, OF_STIR);
	watch(h, info->epoll_fd, EPOLLIN, OF_LIBRARY);
	while (goes_on(h)) {
		int got = epoll_wait(h->admission_epoll_fd, events, EVENTS, patience(h));
		for (int i = 0; i < got; i++) {
			if (events[i].data.u32 < HTTP_PLACES)
				serve(h, &h->clients[events[i].data.u32], events[i].events);
		}
		for (int i = 0; i < got; i++) {
			if (events[i].data.u32 == OF_LISTENER)
				let_in(h);
			if (events[i].data.u32 == OF_STIR && read(h->admission_wake_fd, &n, sizeof(n)) < 0)
				continue;
		}
		MHD_run(h->mhd);
		if (now_ns() - swept_ns > TICK_MS * 1000000ull) {
			sweep(h);
			swept_ns = now_ns();
		}
	}
	return NULL;
}

void admission_clear(struct http *h)
{
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		if (is_counted(&h->clients[i]))
			drop(h, &h->clients[i]);
	}
}
