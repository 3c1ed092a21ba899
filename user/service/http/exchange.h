/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/exchange: one request on its way from http's thread to the owner's and back, and the server
 * that both share. A suspended connection does not end by itself, so an exchange that waits for the
 * owner outlives nobody. Not for other modules.
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
#include "http/later.h"
#include "http/request.h"

#define HTTP_CLIENTS 128
/* And those that were sent away, and are not gone yet. */
#define HTTP_PLACES (2 * HTTP_CLIENTS)
/* Scrapers ask for windows of all processes at once. */
#define HTTP_WINDOWS 16
/* Users whose turn it was lately. */
#define HTTP_TURNS 32
#define HTTP_BASELINES (HTTP_MARKS - HTTP_WINDOWS)

enum stage {
	STAGE_QUEUED, /* for the owner */
	STAGE_WINDOW, /* until its time is over */
	STAGE_ASKED,  /* of the source */
};

struct exchange {
	struct http_later later; /* first: its address is the exchange's */
	struct http *h;
	struct MHD_Connection *conn;
	struct exchange *next;
	unsigned int refs; /* http's thread, and a profile that will come later */
	struct request req;
	unsigned int refused; /* status; then `err` says why */
	struct err err;
	char host[REQUEST_HOST_MAX + 1];
	bool seen, answered, farewell;
	unsigned int status;
	const char *mime;
	struct buf body;
	uint64_t who; /* asks for it: struct peer */
	/* The owner's. */
	enum stage stage;
	struct http_mark *since;
	uint64_t due_ns; /* end of its window */
	int fd;
};

enum client_state {
	CLIENT_NONE,    /* a free place */
	CLIENT_ARRIVES, /* the head of its request is not there as a whole */
	CLIENT_REFUSED, /* was told why; hears it, and hangs up */
	CLIENT_ASKS,    /* libmicrohttpd has it */
	CLIENT_LEAVES,  /* the same, and it was sent away */
};

/* A connection; its time is over at deadline_ns, 0 = it waits for us. */
struct client {
	enum client_state state;
	bool answered;
	int fd;
	uint64_t since_ns, deadline_ns;
	struct peer peer;
};

/* Where delta_heap counts from, by process. */
struct baseline {
	struct http_mark *mark;
	uint32_t pid;
	uint64_t used; /* the least recently used one gives way */
	bool traced;   /* while those of processes that are gone are looked for */
};

#define HTTP_STATUSES(X) X(200) X(400) X(403) X(404) X(405) X(414) X(429) X(431) X(500) X(503)
enum {
#define X(n) STATUS_PLACE_##n,
	HTTP_STATUSES(X)
#undef X
		STATUS_PLACES
};

/* When a user's turn was last. */
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
	int door_fd, stir_fd; /* what the thread waits for; wakes it */
	int epoll_fd, wake_fd, timer_fd;

	pthread_mutex_t lock; /* of what follows up to the owner's part */
	unsigned int refs;    /* the owner, and profiles that will come later */
	bool closed, ending;
	struct exchange *queued, *finished; /* newest first */
	struct exchange *waiting[HTTP_PLACES];
	struct client clients[HTTP_PLACES];
	size_t clients_cnt; /* that were not sent away */
	uint64_t sent[STATUS_PLACES];
	uint64_t timed_out, gave_way;
	uint64_t turned_ns; /* when the owner last was here */
	size_t farewells;   /* answers on their way when the server was closed */

	struct exchange *pending[HTTP_PLACES]; /* oldest first */
	size_t pending_cnt;
	struct turn turns[HTTP_TURNS];
	uint64_t turns_cnt;
	struct exchange *windows[HTTP_WINDOWS]; /* deltas that are being collected; NULL = a free place */
	struct baseline baselines[HTTP_BASELINES];
	uint64_t uses, looked_ns; /* looked: whether clients are gone */
	bool ticking;
};

/* From the owner's thread: what the client gets; takes the body. http's thread sends it. */
void exchange_answer(struct exchange *x, unsigned int status, const char *mime, struct buf *body);
void exchange_fail(struct exchange *x, unsigned int status, const char *text);
void exchange_later(struct http_later *later, int rc, struct buf *out, const struct err *err);
void exchange_put(struct exchange *x);
void http_put(struct http *h);

/* Gives back what it counts from. */
void serve_unmark(struct exchange *x);
/* Lets go of what a profile that came later held. */
void serve_release(struct exchange *x);

/* The owner has something to do. */
void http_wake(struct http *h);
/* The other end has hung up; what it sent before does not lie here unread. */
bool http_is_gone(int fd);
/* The lock is held. */
void http_count_sent(struct http *h, unsigned int status);

/* Lets clients in: the thread's own function; arg is a struct http. */
void *door_run(void *arg);
/* Something is to be done there, such as sending an answer. */
void door_stir(struct http *h);
/* After the thread has ended: hangs up on those who are not libmicrohttpd's. */
void door_clear(struct http *h);

/* The pages: pure functions of what the source says now. 0 or -errno of the source. */
int page_write(const struct http_source *s, const struct request *r, struct buf *out);
void page_index(struct buf *out);
extern const char page_style[];
int metrics_write(struct http *h, uint32_t pid, struct buf *out);
int sd_write(const struct http_source *s, const char *host, struct buf *out);

#endif
