/* SPDX-License-Identifier: Apache-2.0 */
/* push/sender: see sender.h. Sends the oldest profile first and retries it until the server accepts or rejects it. */
#include "push/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "push/curl.h"

#define QUEUE_STANDARD (32u << 20)
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000
#define SHUTDOWN_MS 1000
/* How much of a server's error message is kept. */
#define ANSWER_MAX 200

struct sender {
	size_t queue_max;
	const struct curl_calls *lib;
	CURL *curl;
	struct curl_slist *headers;
	enum push_kind kind;
	char answer[ANSWER_MAX + 1];
	size_t answer_len;
	long grpc_status; /* of the response, -1 = none */
	pthread_t thread;

	pthread_mutex_t lock; /* for the fields below */
	pthread_cond_t changed;
	struct payload *oldest, *newest;
	size_t waiting, bytes; /* including the one being sent */
	struct push_counts counts;
	bool ending;
	uint64_t until_ms; /* deadline if ending */
	int sock;          /* the connection, -1 = none */
	bool complained;
};

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

/* --- the queue --------------------------------------------------------------------------------- */

/* The lock is held. */
static struct payload *take_oldest(struct sender *s)
{
	struct payload *p = s->oldest;
	if (!p)
		return NULL;
	s->oldest = p->next;
	if (!s->oldest)
		s->newest = NULL;
	return p;
}

static void forget(struct sender *s, struct payload *p)
{
	s->waiting--;
	s->bytes -= p->body.len;
	payload_free(p);
}

static void drop_surplus(struct sender *s)
{
	while (s->bytes > s->queue_max && s->oldest) {
		forget(s, take_oldest(s));
		s->counts.overflowed++;
	}
}

void sender_offer(struct sender *s, struct payload *p)
{
	pthread_mutex_lock(&s->lock);
	p->next = NULL;
	if (s->newest)
		s->newest->next = p;
	else
		s->oldest = p;
	s->newest = p;
	s->waiting++;
	s->bytes += p->body.len;
	drop_surplus(s);
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void sender_note_failed(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->counts.failed++;
	pthread_mutex_unlock(&s->lock);
}

void sender_counts(struct sender *s, struct push_counts *out, size_t *waiting, size_t *bytes)
{
	pthread_mutex_lock(&s->lock);
	*out = s->counts;
	*waiting = s->waiting;
	*bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
}

/* --- one POST ---------------------------------------------------------------------------------- */

static size_t on_answer(char *data, size_t one, size_t n, void *ctx)
{
	struct sender *s = ctx;
	size_t left = ANSWER_MAX - s->answer_len, some = n < left ? n : left;
	(void)one;
	memcpy(s->answer + s->answer_len, data, some);
	s->answer_len += some;
	s->answer[s->answer_len] = 0;
	return n;
}

/* gRPC reports its status in headers or trailers; libcurl passes both here, with the line end. */
static size_t on_header(char *data, size_t one, size_t n, void *ctx)
{
	static const char status[] = "grpc-status:", message[] = "grpc-message:";
	struct sender *s = ctx;
	char line[ANSWER_MAX] = "";
	memcpy(line, data, n < sizeof(line) ? n : sizeof(line) - 1);
	line[strcspn(line, "\r\n")] = 0;
	if (!strncasecmp(line, status, sizeof(status) - 1)) {
		s->grpc_status = strtol(line + sizeof(status) - 1, NULL, 10);
	} else if (!strncasecmp(line, message, sizeof(message) - 1)) {
		char *text = line + sizeof(message) - 1;
		text += strspn(text, " ");
		s->answer_len = 0;
		on_answer(text, one, strlen(text), ctx);
	}
	return n;
}

/* Aborts the transfer once the deadline has passed. */
static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct sender *s = ctx;
	(void)a, (void)b, (void)c, (void)d;
	pthread_mutex_lock(&s->lock);
	bool over = s->ending && now_ms() > s->until_ms;
	pthread_mutex_unlock(&s->lock);
	return over;
}

/* libcurl calls on_progress only once a second. Knowing the socket, cut_off can abort sooner. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct sender *s = ctx;
	(void)purpose;
	int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	pthread_mutex_lock(&s->lock);
	s->sock = fd;
	pthread_mutex_unlock(&s->lock);
	return fd;
}

/* Under the lock, so that cut_off cannot hit another descriptor that reuses the number. */
static int close_socket(void *ctx, curl_socket_t fd)
{
	struct sender *s = ctx;
	pthread_mutex_lock(&s->lock);
	if (s->sock == fd)
		s->sock = -1;
	int rc = close(fd);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static void cut_off(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->sock >= 0)
		shutdown(s->sock, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

enum outcome { SENT, REFUSED, AGAIN };

/* Logged once per outage. */
static void warn_once(struct sender *s, const char *what, const char *next)
{
	struct buf clean = { 0 };
	if (s->complained)
		return;
	s->complained = true;
	text_clean(&clean, what, SIZE_MAX);
	log_warn("--push: %s: %s", buf_str(&clean), next);
	buf_free(&clean);
}

/* -1 = not a gRPC server. Only the named codes are transient. */
static enum outcome judge_grpc(long status)
{
	enum { DEADLINE_EXCEEDED = 4, RESOURCE_EXHAUSTED = 8, ABORTED = 10, UNAVAILABLE = 14 };
	if (!status)
		return SENT;
	bool later = status == DEADLINE_EXCEEDED || status == RESOURCE_EXHAUSTED || status == ABORTED || status == UNAVAILABLE;
	return later ? AGAIN : REFUSED;
}

/* Web servers other than Pyroscope may answer any path with a page and status 200. */
static bool is_page(struct sender *s)
{
	char *type = NULL;
	s->lib->easy_getinfo(s->curl, CURLINFO_CONTENT_TYPE, &type);
	return type && !strncasecmp(type, "text/html", 9);
}

static enum outcome judge(struct sender *s, long status)
{
	if (status == 429 || status == 408 || status >= 500)
		return AGAIN;
	if (status < 200 || status >= 300)
		return REFUSED;
	if (s->kind == PUSH_PARCA)
		return judge_grpc(s->grpc_status);
	return is_page(s) ? REFUSED : SENT;
}

static void tell(struct sender *s, enum outcome how, long status)
{
	char what[ANSWER_MAX + 96];
	if (s->grpc_status >= 0)
		snprintf(what, sizeof(what), "the server says gRPC %ld %s", s->grpc_status, s->answer);
	else if (status >= 200 && status < 300)
		snprintf(what, sizeof(what), "the server answers, but not as %s",
			 s->kind == PUSH_PARCA ? "Parca (gRPC)" : "Pyroscope");
	else
		snprintf(what, sizeof(what), "the server says %ld %s", status, s->answer);
	warn_once(s, what,
		  how == AGAIN ? "profiles wait until it takes them"
			       : "this profile is dropped, and so will be others that it refuses");
}

static enum outcome post(struct sender *s, const struct payload *p, uint64_t *pause_ms)
{
	curl_off_t wait = 0;
	long status = 0;
	s->answer_len = 0;
	*s->answer = 0;
	s->grpc_status = -1;
	s->lib->easy_setopt(s->curl, CURLOPT_POSTFIELDS, (char *)p->body.data);
	s->lib->easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->body.len);
	CURLcode rc = s->lib->easy_perform(s->curl);
	if (rc) {
		warn_once(s, s->lib->easy_strerror(rc), "profiles wait until the server can be reached");
		return AGAIN;
	}
	s->lib->easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	enum outcome how = judge(s, status);
	if (how == SENT) {
		s->complained = false;
		return how;
	}
	if (how == AGAIN) {
		s->lib->easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &wait);
		if (wait > 0 && wait <= 300 && (uint64_t)wait * 1000 > *pause_ms)
			*pause_ms = (uint64_t)wait * 1000;
	}
	tell(s, how, status);
	return how;
}

/* --- the thread -------------------------------------------------------------------------------- */

/*
 * The lock is held. Sleeps for ms, or at most 100 ms when ending: some pause, so as not to flood a server that fails
 * immediately until the deadline.
 */
static void pause_for(struct sender *s, uint64_t ms)
{
	struct timespec until;
	uint64_t end = now_ms() + ms;
	for (uint64_t now; (now = now_ms()) < end;) {
		if (s->ending && end > now + 100)
			end = now + 100;
		until = (struct timespec){ .tv_sec = (time_t)(end / 1000), .tv_nsec = (long)(end % 1000) * 1000000 };
		pthread_cond_timedwait(&s->changed, &s->lock, &until);
	}
}

/* The lock is held, but released while sending. A profile to be retried goes back to the head of the queue. */
static void deliver(struct sender *s, struct payload *p, uint64_t *back_off)
{
	/* 25 % jitter, so that many daemons do not retry at the same time. */
	uint64_t pause = *back_off * 3 / 4 + (uint64_t)random() % (*back_off / 2);
	pthread_mutex_unlock(&s->lock);
	enum outcome how = post(s, p, &pause);
	pthread_mutex_lock(&s->lock);
	if (how != AGAIN) {
		s->counts.sent += how == SENT;
		s->counts.refused += how == REFUSED;
		forget(s, p);
		*back_off = PAUSE_MIN_MS;
		return;
	}
	p->next = s->oldest;
	s->oldest = p;
	if (!s->newest)
		s->newest = p;
	s->counts.retries++;
	drop_surplus(s);
	pause_for(s, pause);
	*back_off = *back_off * 2 < PAUSE_MAX_MS ? *back_off * 2 : PAUSE_MAX_MS;
}

static bool time_is_over(struct sender *s)
{
	return s->ending && (!s->oldest || now_ms() > s->until_ms);
}

static void *run(void *arg)
{
	struct sender *s = arg;
	uint64_t back_off = PAUSE_MIN_MS;
	pthread_mutex_lock(&s->lock);
	while (!time_is_over(s)) {
		struct payload *p = take_oldest(s);
		if (p)
			deliver(s, p, &back_off);
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void sender_free(struct sender *s)
{
	struct payload *p;
	while ((p = take_oldest(s)))
		payload_free(p);
	s->lib->easy_cleanup(s->curl);
	s->lib->slist_free_all(s->headers);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The message omits the URL, which may contain a password. */
static int set_url(struct sender *s, const char *url, struct err *err)
{
	struct buf whole = { 0 };
	size_t len = strlen(url);
	while (len && url[len - 1] == '/')
		len--;
	buf_add(&whole, url, len);
	buf_adds(&whole, s->kind == PUSH_PARCA ? "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
					       : "/push.v1.PusherService/Push");
	CURLU *parts = s->lib->url();
	bool ok = parts && !whole.failed && (!strncmp(url, "http://", 7) || !strncmp(url, "https://", 8)) &&
		  !strpbrk(url, "?#") && !s->lib->url_set(parts, CURLUPART_URL, url, 0);
	if (ok)
		s->lib->easy_setopt(s->curl, CURLOPT_URL, buf_str(&whole));
	s->lib->url_cleanup(parts);
	buf_free(&whole);
	return ok ? 0 : err_set(err, EINVAL, "--push wants http://HOST:PORT of Pyroscope or parca+http://HOST:PORT");
}

static void set_headers(struct sender *s, const struct push_options *o)
{
	struct buf tenant = { 0 };
	static const char *const of_kind[][2] = {
		[PUSH_PYROSCOPE] = { "Content-Type: application/json", "Connect-Protocol-Version: 1" },
		[PUSH_PARCA] = { "Content-Type: application/grpc", "TE: trailers" },
	};
	for (size_t i = 0; i < 2; i++)
		s->headers = s->lib->slist_append(s->headers, of_kind[s->kind][i]);
	s->headers = s->lib->slist_append(s->headers, "Expect:");
	if (o->tenant) {
		buf_addf(&tenant, "X-Scope-OrgID: %s", o->tenant);
		s->headers = s->lib->slist_append(s->headers, buf_str(&tenant));
	}
	buf_free(&tenant);
}

static void set_transfer_options(struct sender *s)
{
	s->lib->easy_setopt(s->curl, CURLOPT_HTTPHEADER, s->headers);
	s->lib->easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	s->lib->easy_setopt(s->curl, CURLOPT_USERAGENT, "alys-bpf/" ALYS_VERSION);
	s->lib->easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1l);
	s->lib->easy_setopt(s->curl, CURLOPT_CONNECTTIMEOUT_MS, 5000l);
	s->lib->easy_setopt(s->curl, CURLOPT_TIMEOUT_MS, 30000l);
	s->lib->easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, on_answer);
	s->lib->easy_setopt(s->curl, CURLOPT_WRITEDATA, s);
	s->lib->easy_setopt(s->curl, CURLOPT_NOPROGRESS, 0l);
	s->lib->easy_setopt(s->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	s->lib->easy_setopt(s->curl, CURLOPT_XFERINFODATA, s);
	s->lib->easy_setopt(s->curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	s->lib->easy_setopt(s->curl, CURLOPT_OPENSOCKETDATA, s);
	s->lib->easy_setopt(s->curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	s->lib->easy_setopt(s->curl, CURLOPT_CLOSESOCKETDATA, s);
}

/* gRPC requires HTTP/2, which is negotiated with TLS only; without TLS it must be assumed. */
static int set_version(struct sender *s, const char *url, struct err *err)
{
	long version = !strncmp(url, "https:", 6) ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	if (s->kind != PUSH_PARCA)
		return 0;
	s->lib->easy_setopt(s->curl, CURLOPT_HEADERFUNCTION, on_header);
	s->lib->easy_setopt(s->curl, CURLOPT_HEADERDATA, s);
	/* libcurl 7.88 fails on the second transfer over such a connection, and does not close it. */
	s->lib->easy_setopt(s->curl, CURLOPT_FORBID_REUSE, 1l);
	if (!s->lib->easy_setopt(s->curl, CURLOPT_HTTP_VERSION, version))
		return 0;
	return err_set(err, ENOTSUP, "--push parca+ needs HTTP/2, which this machine's libcurl.so.4 was built without");
}

static int start(struct sender *s, struct err *err)
{
	int rc = signals_thread(&s->thread, run, s);
	return rc ? err_set(err, rc, "no thread for --push: %s", strerror(rc)) : 0;
}

struct sender *sender_new(enum push_kind kind, const struct push_options *o, struct err *err)
{
	pthread_condattr_t monotonic;
	const struct curl_calls *lib = curl_load(err);
	struct sender *s = lib ? calloc(1, sizeof(*s)) : NULL;
	if (!lib)
		return NULL;
	if (!s || !(s->curl = lib->easy_init())) {
		free(s);
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	s->lib = lib;
	s->kind = kind;
	s->sock = -1;
	s->queue_max = o->queue_max ? o->queue_max : QUEUE_STANDARD;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	set_headers(s, o);
	set_transfer_options(s);
	if (set_url(s, o->url, err) || set_version(s, o->url, err) || start(s, err)) {
		sender_free(s);
		return NULL;
	}
	return s;
}

void sender_end(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	s->until_ms = now_ms() + SHUTDOWN_MS;
	/* Slightly later than the thread's own deadline. */
	uint64_t until_ms = s->until_ms + 10;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };
	if (pthread_clockjoin_np(s->thread, NULL, CLOCK_MONOTONIC, &until)) {
		cut_off(s);
		pthread_join(s->thread, NULL);
	}
	sender_free(s);
}
