/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/clients: libmicrohttpd's callbacks, on the HTTP thread (admission.c). Rejects invalid requests, queues the others for
 * the owner (serve.c) and sends the responses. See http.h.
 */
#include "http/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/text.h"
#include "http/exchange.h"

/* Time limit for receiving a request, and minimum for sending a response. */
#define TIMEOUT_NS 10000000000ull
/* Bytes per second that a client must read. */
#define SLOWEST 65536
/* Larger than any admitted request head: with its memory used up, libmicrohttpd may wait forever. */
#define ROOM (128 * 1024)
/* The owner is considered stuck after this time without a turn. */
#define STUCK_NS 60000000000ull
/* Time for responses to be sent when the server shuts down. */
#define SHUTDOWN_MS 200

/* --- connections ------------------------------------------------------------------------------- */

static struct client *client_of(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

bool http_is_gone(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* libmicrohttpd calls this before it closes the descriptor: that of a client in CLIENT_ASKS is always open. */
static void on_connection(void *ctx, struct MHD_Connection *conn, void **place, enum MHD_ConnectionNotificationCode code)
{
	struct http *h = ctx;
	struct client *c = *place;
	pthread_mutex_lock(&h->lock);
	if (code == MHD_CONNECTION_NOTIFY_CLOSED && c) {
		h->clients_cnt -= c->state == CLIENT_ASKS;
		c->state = CLIENT_NONE;
	}
	int fd = code == MHD_CONNECTION_NOTIFY_STARTED
			 ? MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd
			 : -1;
	for (size_t i = 0; fd >= 0 && i < HTTP_PLACES; i++) {
		if (h->clients[i].state == CLIENT_ASKS && h->clients[i].fd == fd)
			*place = &h->clients[i];
	}
	pthread_mutex_unlock(&h->lock);
}

/* --- libmicrohttpd's callbacks ----------------------------------------------------------------- */

/* Called first for each request, before its headers are parsed. */
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *conn)
{
	struct http *h = ctx;
	struct exchange *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->later.done = exchange_later;
	x->h = h;
	x->conn = conn;
	x->refs = 1;
	x->refused = request_parse(uri, &x->req, &x->err);
	return x;
}

static void on_completed(void *ctx, struct MHD_Connection *conn, void **place, enum MHD_RequestTerminationCode code)
{
	struct http *h = ctx;
	struct exchange *x = *place;
	(void)conn, (void)code;
	if (!x)
		return;
	pthread_mutex_lock(&h->lock);
	h->unsent_responses -= x->last_response;
	pthread_mutex_unlock(&h->lock);
	exchange_put(x);
	*place = NULL;
}

struct hosts {
	const char *host;
	size_t n;
};

static enum MHD_Result count_host(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct hosts *found = ctx;
	(void)kind;
	if (!strcasecmp(key, MHD_HTTP_HEADER_HOST)) {
		found->host = value;
		found->n++;
	}
	return MHD_YES;
}

/* Other origins may link here (navigate), but not fetch or embed, whether to read profiles or to cause load. */
static bool is_foreign(struct MHD_Connection *conn)
{
	const char *site = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *mode = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Sec-Fetch-Mode");
	bool ours = !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
	return !ours && !(mode && !strcmp(mode, "navigate"));
}

static void check(struct exchange *x, const char *method)
{
	struct hosts found = { 0 };
	MHD_get_connection_values(x->conn, MHD_HEADER_KIND, count_host, &found);
	bool readable = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
	if (found.n != 1 || !found.host) {
		x->refused = 400;
		err_set(&x->err, EINVAL, "a request must have exactly one Host header");
	} else if (!request_host_ok(found.host, x->h->insecure)) {
		x->refused = 403;
		err_set(&x->err, EPERM, "this server is 127.0.0.1, [::1] or localhost and does not answer to other names");
	} else if (is_foreign(x->conn)) {
		x->refused = 403;
		err_set(&x->err, EPERM, "cross-origin requests are not allowed");
	} else if (!readable) {
		x->refused = 405;
		err_set(&x->err, EINVAL, "read-only server: GET and HEAD only");
	} else {
		strncpy(x->host, found.host, sizeof(x->host) - 1);
	}
}

void http_count_sent(struct http *h, unsigned int status)
{
	static const unsigned int known[] = {
#define X(n) n,
		HTTP_STATUSES(X)
#undef X
	};
	for (size_t i = 0; i < STATUS_PLACES; i++)
		h->sent[i] += known[i] == status;
}

static void note_sent(struct http *h, struct client *c, unsigned int status, size_t len)
{
	pthread_mutex_lock(&h->lock);
	if (c) {
		c->answered = true;
		c->deadline_ns = now_ns() + TIMEOUT_NS + len / SLOWEST * 1000000000ull;
	}
	http_count_sent(h, status);
	pthread_mutex_unlock(&h->lock);
}

/* Responses may load nothing external and must not be framed. */
static const char *policy_of(const struct exchange *x)
{
	/* The report restricts scripts further by a policy of its own, in its head, with the hash of its only script. */
	if (x->req.route == ROUTE_REPORT)
		return "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'; "
		       "base-uri 'none'; form-action 'none'";
	return "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
}

static void add_headers(const struct exchange *x, struct MHD_Response *r)
{
	MHD_add_response_header(r, "Content-Type", x->mime);
	MHD_add_response_header(r, "Content-Security-Policy", policy_of(x));
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	/* One request per connection: the client's deadline is then that of its request. */
	MHD_add_response_header(r, "Connection", "close");
	if (x->status == 405)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (x->status == 429)
		MHD_add_response_header(r, "Retry-After", "5");
	if (x->status == 200 && x->req.route >= ROUTE_HEAP && x->req.route <= ROUTE_DELTA_HEAP)
		MHD_add_response_header(r, "Content-Disposition", "attachment; filename=\"heap.pb.gz\"");
}

static enum MHD_Result send_answer(struct exchange *x)
{
	size_t len = x->body.len;
	struct MHD_Response *r = MHD_create_response_from_buffer(len, x->body.data, MHD_RESPMEM_MUST_FREE);
	if (!r)
		return MHD_NO;
	x->body = (struct buf){ 0 };
	add_headers(x, r);
	note_sent(x->h, client_of(x->conn), x->status, len);
	enum MHD_Result rc = MHD_queue_response(x->conn, x->status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result refuse(struct exchange *x)
{
	x->status = x->refused;
	x->mime = "text/plain; charset=utf-8";
	text_clean(&x->body, x->err.text, sizeof(x->err.text));
	buf_u8(&x->body, '\n');
	return send_answer(x);
}

/* The connection is suspended before it is queued, as the owner may resume it at once. */
static enum MHD_Result hand_over(struct exchange *x)
{
	struct http *h = x->h;
	struct client *c = client_of(x->conn);
	MHD_suspend_connection(x->conn);
	pthread_mutex_lock(&h->lock);
	size_t i = 0;
	while (i < HTTP_PLACES && h->waiting[i])
		i++;
	bool taken = !h->closed && c && i < HTTP_PLACES;
	if (taken) {
		h->waiting[i] = x;
		c->deadline_ns = 0;
		x->fd = c->fd;
		x->who = c->peer.who;
		x->next = h->queued;
		h->queued = x;
	}
	pthread_mutex_unlock(&h->lock);
	if (taken) {
		http_wake(h);
	} else {
		x->refused = 503;
		err_set(&x->err, EBUSY, "the server is shutting down");
		MHD_resume_connection(x->conn);
	}
	return MHD_YES;
}

/* Answered on this thread, so that it works when the owner is stuck. */
static enum MHD_Result answer_healthy(struct exchange *x)
{
	pthread_mutex_lock(&x->h->lock);
	uint64_t idle_ns = now_ns() - x->h->turned_ns;
	pthread_mutex_unlock(&x->h->lock);
	bool turns = idle_ns < STUCK_NS;
	x->status = turns ? 200 : 503;
	x->mime = "text/plain; charset=utf-8";
	if (turns)
		buf_adds(&x->body, "healthy\n");
	else
		buf_addf(&x->body, "the recording has not turned for %llu s\n", (unsigned long long)(idle_ns / 1000000000));
	return send_answer(x);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *conn, const char *url, const char *method,
				  const char *version, const char *body, size_t *body_sz, void **place)
{
	struct exchange *x = *place;
	(void)ctx, (void)conn, (void)url, (void)version, (void)body;
	if (!x)
		return MHD_NO;
	*body_sz = 0;
	if (!x->seen) {
		x->seen = true;
		check(x, method);
		if (!x->refused)
			return x->req.route == ROUTE_HEALTHY ? answer_healthy(x) : hand_over(x);
	}
	return x->answered ? send_answer(x) : refuse(x);
}

/* --- opening and closing ----------------------------------------------------------------------- */

static struct MHD_Daemon *start(struct http *h)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, h,
				MHD_OPTION_CONNECTION_LIMIT, HTTP_PLACES, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)ROOM,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)(TIMEOUT_NS / 1000000000ull),
				MHD_OPTION_URI_LOG_CALLBACK, on_uri, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

static int start_thread(struct http *h)
{
	return signals_thread(&h->thread, admission_run, h);
}

static int open_descriptors(struct http *h, struct err *err)
{
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	h->admission_epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	h->admission_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event in = { .events = EPOLLIN };
	if (h->epoll_fd < 0 || h->wake_fd < 0 || h->timer_fd < 0 || h->admission_epoll_fd < 0 || h->admission_wake_fd < 0 ||
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->wake_fd, &in) || epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->timer_fd, &in))
		return err_set(err, errno, "no descriptors for the HTTP server: %s", strerror(errno));
	return 0;
}

struct http *http_open(const struct http_options *o, const struct http_listener *l, const struct http_source *source,
		       struct err *err)
{
	struct http *h = calloc(1, sizeof(*h));
	if (!h) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	h->epoll_fd = h->wake_fd = h->timer_fd = h->admission_epoll_fd = h->admission_wake_fd = -1;
	h->source = source;
	h->metrics = o->metrics;
	h->metrics_ctx = o->metrics_ctx;
	h->insecure = o->insecure;
	h->listener = l;
	h->refs = 1;
	h->turned_ns = now_ns();
	pthread_mutex_init(&h->lock, NULL);
	if (open_descriptors(h, err)) {
		http_put(h);
		return NULL;
	}
	h->mhd = start(h);
	if (h->mhd && !start_thread(h))
		return h;
	err_set(err, EIO, "cannot start the HTTP server at %s", l->address);
	if (h->mhd)
		MHD_stop_daemon(h->mhd);
	http_put(h);
	return NULL;
}

int http_fd(const struct http *h)
{
	return h->epoll_fd;
}

static size_t unsent_responses(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	size_t n = h->unsent_responses;
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* MHD_stop_daemon needs all connections resumed, and sends nothing more: answer pending requests and wait for them first. */
static void answer_waiting(struct http *h)
{
	struct exchange *waiting[HTTP_PLACES], *x, *next;
	pthread_mutex_lock(&h->lock);
	h->closed = true;
	memcpy(waiting, h->waiting, sizeof(waiting));
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		if (waiting[i])
			waiting[i]->last_response = true;
		h->unsent_responses += waiting[i] != NULL;
	}
	x = h->finished;
	h->finished = NULL;
	pthread_mutex_unlock(&h->lock);
	for (; x; x = next) {
		next = x->next;
		serve_release(x);
	}
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		if (!waiting[i])
			continue;
		serve_unmark(waiting[i]);
		exchange_fail(waiting[i], 503, "the daemon is ending");
	}
	for (int ms = 0; ms < SHUTDOWN_MS && unsent_responses(h); ms += 5)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

void http_close(struct http *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < HTTP_BASELINES; i++) {
		if (h->baselines[i].mark)
			h->source->unmark(h->source->ctx, h->baselines[i].mark);
	}
	answer_waiting(h);
	pthread_mutex_lock(&h->lock);
	h->ending = true;
	pthread_mutex_unlock(&h->lock);
	admission_wake(h);
	pthread_join(h->thread, NULL);
	MHD_stop_daemon(h->mhd);
	admission_clear(h);
	http_put(h);
}
