/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/exchange: one request, passed from http's thread to the owner's and back, and the server shared by both. A
 * suspended connection does not end by itself, so an exchange waiting for the owner stays valid. Private to this
 * module.
 *
 *   http's thread        new -> suspended, queued            resumed -> sent, freed
 *   owner's thread             served (-> window) -> profile -> answered
 *   any thread                                          \-> finished -/
 */
#ifndef ALYS_HTTP_EXCHANGE_H
#define ALYS_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>

#include "http/http.h"
#include "http/deferred.h"
#include "http/request.h"

#define HTTP_CLIENTS 128
/* Includes those being turned away. */
#define HTTP_PLACES (2 * HTTP_CLIENTS)
/* Scrapers request windows of all processes at once. */
#define HTTP_WINDOWS 16
/* Users served recently. */
#define HTTP_TURNS 32
#define HTTP_BASELINES (HTTP_MARKS - HTTP_WINDOWS)

enum stage {
	STAGE_QUEUED, /* for the owner */
	STAGE_WINDOW, /* waiting for its window to end */
	STAGE_ASKED,  /* of the source */
};

struct exchange {
	struct http_deferred later; /* first: its address is the exchange's */
	struct http *h;
	struct MHD_Connection *conn;
	struct exchange *next;
	unsigned int refs; /* http's thread, and a profile that will come later */
	struct request req;
	unsigned int refused; /* status; then `err` says why */
	struct err err;
	char host[REQUEST_HOST_MAX + 1];
	bool seen, answered, last_response;
	unsigned int status;
	const char *mime;
	struct buf body;
	uint64_t who; /* the requester: see struct peer */
	/* The owner's. */
	enum stage stage;
	struct http_mark *since;
	uint64_t due_ns; /* end of its window */
	int fd;
};

enum client_state {
	CLIENT_NONE,    /* free slot */
	CLIENT_ARRIVES, /* the head of its request is incomplete */
	CLIENT_REFUSED, /* refused: the answer is being sent */
	CLIENT_ASKS,    /* handed to libmicrohttpd */
	CLIENT_LEAVES,  /* the same, and being turned away */
};

/* A connection; times out at deadline_ns, 0 = it waits for us. */
struct client {
	enum client_state state;
	bool answered;
	int fd;
	uint64_t since_ns, deadline_ns;
	struct peer peer;
};

/* What delta_heap counts from, by process. */
struct baseline {
	struct http_mark *mark;
	uint32_t pid, shown;
	uint64_t used; /* the least recently used one is replaced */
	bool traced;   /* set while removing those of processes that are gone */
};

#define HTTP_STATUSES(X) X(200) X(400) X(403) X(404) X(405) X(414) X(429) X(431) X(500) X(503)
enum {
#define X(n) STATUS_PLACE_##n,
	HTTP_STATUSES(X)
#undef X
		STATUS_PLACES
};

/* When a user was last served. */
struct turn {
	uint64_t who, no;
};

struct http {
	const struct http_source *source;
	void (*metrics)(void *ctx, struct buf *out);
	void *metrics_ctx;
	bool insecure;
	const struct http_listener *listener;
	struct MHD_Daemon *mhd;
	pthread_t thread;
	int admission_epoll_fd, admission_wake_fd; /* what the thread polls; wakes it */
	int epoll_fd, wake_fd, timer_fd;

	pthread_mutex_t lock; /* protects everything up to the owner's part */
	unsigned int refs;    /* the owner, and profiles that will come later */
	bool closed, ending;
	struct exchange *queued, *finished; /* newest first */
	struct exchange *waiting[HTTP_PLACES];
	struct client clients[HTTP_PLACES];
	size_t clients_cnt; /* not being turned away */
	uint64_t sent[STATUS_PLACES];
	uint64_t timed_out, gave_way;
	uint64_t turned_ns;      /* when the owner last served */
	size_t unsent_responses; /* answers in flight when the server was closed */

	struct exchange *pending[HTTP_PLACES]; /* oldest first */
	size_t pending_cnt;
	struct turn turns[HTTP_TURNS];
	uint64_t turns_cnt;
	struct exchange *windows[HTTP_WINDOWS]; /* deltas in progress; NULL = free slot */
	struct baseline baselines[HTTP_BASELINES];
	uint64_t uses, looked_ns; /* looked: last check for disconnected clients */
	bool ticking;
};

/* Owner's thread: sets the answer; takes the body. http's thread sends it. */
void exchange_answer(struct exchange *x, unsigned int status, const char *mime, struct buf *body);
void exchange_fail(struct exchange *x, unsigned int status, const char *text);
void exchange_later(struct http_deferred *later, int rc, struct buf *out, const struct err *err);
void exchange_put(struct exchange *x);
void http_put(struct http *h);

/* Releases its baseline. */
void serve_unmark(struct exchange *x);
/* Releases what a deferred profile held. */
void serve_release(struct exchange *x);

/* Tells the owner that there is something to do. */
void http_wake(struct http *h);
/* The peer has disconnected, and everything that it sent has been read. */
bool http_is_gone(int fd);
/* Call with the lock held. */
void http_count_sent(struct http *h, unsigned int status);

/* Accepts clients: the thread's main function; arg is a struct http. */
void *admission_run(void *arg);
/* Wakes that thread, for instance to send an answer. */
void admission_wake(struct http *h);
/* After the thread has ended: closes connections that libmicrohttpd does not own. */
void admission_clear(struct http *h);

/* Renders the pages: pure functions of the source's state. 0 or -errno of the source. */
int page_write(const struct http_source *s, const struct request *r, struct buf *out);
void page_index(struct buf *out);
extern const char page_style[];
int metrics_write(struct http *h, uint32_t pid, struct buf *out);
int sd_write(const struct http_source *s, const char *host, struct buf *out);

#endif
