/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/serve: answers queued requests from the source, on the owner's thread (http_serve_pending). Never blocks: a profile
 * over some seconds is an exchange with a due time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/exchange.h"

/* Resolution of the ends of timed profiles and of noticing disconnected clients. */
#define TICK_NS 200000000l
/* Longest time spent on requests in one turn. */
#define TURN_NS 20000000ull

static const char *const mime_text = "text/plain; charset=utf-8";
static const char gone[] = "the client hung up";
static const char *const mime_html = "text/html; charset=utf-8";

/* HTTP status for a source's -errno. */
static unsigned int status_of(int rc)
{
	switch (-rc) {
	case ENOENT:
	case ESRCH: return 404;
	case EBUSY:
	case EAGAIN:
	case ENOMEM:
	case ECANCELED: return 503;
	default: return 500;
	}
}

static void fail(struct exchange *x, int rc, const struct err *err)
{
	exchange_fail(x, status_of(rc), err && *err->text ? err->text : strerror(-rc));
}

/* --- profiles ---------------------------------------------------------------------------------- */

static const char *profile_mime(const struct exchange *x)
{
	/* Alloy accepts no other type for profiles. */
	return x->req.route == ROUTE_REPORT ? mime_html : "application/octet-stream";
}

void serve_unmark(struct exchange *x)
{
	if (x->since)
		x->h->source->unmark(x->h->source->ctx, x->since);
	x->since = NULL;
}

static void finish(struct exchange *x, int rc, struct buf *body, const struct err *err)
{
	serve_unmark(x);
	if (rc)
		fail(x, rc, err);
	else
		exchange_answer(x, 200, profile_mime(x), body);
	buf_free(body);
}

static enum http_profile what_of(enum route r)
{
	return r == ROUTE_REPORT ? HTTP_PROFILE_REPORT : r == ROUTE_ALLOCS ? HTTP_PROFILE_ALLOCS : HTTP_PROFILE_HEAP;
}

static void refs_add(struct exchange *x, int n)
{
	pthread_mutex_lock(&x->h->lock);
	x->refs += (unsigned int)n;
	x->h->refs += (unsigned int)n;
	pthread_mutex_unlock(&x->h->lock);
}

/* cause: see struct http_profile_request. */
static void ask_profile(struct exchange *x, const char *cause)
{
	const struct http_source *s = x->h->source;
	struct http_profile_request r = {
		.what = what_of(x->req.route),
		.pid = x->req.pid,
		.shown = x->req.shown,
		.since = x->since,
		.samples_max = x->req.samples,
		.cause = cause,
		.later = &x->later,
	};
	struct buf body = { 0 };
	struct err err = { 0 };
	x->stage = STAGE_ASKED;
	refs_add(x, 1); /* first: the profile may be done before the call returns */
	int rc = s->profile(s->ctx, &r, &body, &err);
	serve_unmark(x);
	if (rc == HTTP_LATER)
		return;
	refs_add(x, -1); /* not the last one: the HTTP thread has another */
	finish(x, rc, &body, &err);
}

void serve_release(struct exchange *x)
{
	struct http *h = x->h;
	exchange_put(x);
	http_put(h);
}

static void take_finished(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	struct exchange *x = h->finished, *next;
	h->finished = NULL;
	pthread_mutex_unlock(&h->lock);
	for (; x; x = next) {
		next = x->next;
		struct buf body = x->body;
		x->body = (struct buf){ 0 };
		finish(x, -(int)x->status, &body, &x->err);
		serve_release(x);
	}
}

/* --- deltas ------------------------------------------------------------------------------------ */

static const char too_many[] = "too many profiles over some seconds are being collected: ask again later";

static size_t windows_of(const struct http *h, uint64_t who)
{
	size_t n = 0;
	for (size_t i = 0; i < HTTP_WINDOWS; i++)
		n += h->windows[i] && h->windows[i]->who == who;
	return n;
}

/*
 * A free slot; else the newest one of the user with most, if that user has at least two more than this one.
 * HTTP_WINDOWS = none.
 */
static size_t place_for(struct http *h, uint64_t who)
{
	size_t found = HTTP_WINDOWS, most = windows_of(h, who) + 1;
	for (size_t i = 0; i < HTTP_WINDOWS; i++) {
		if (!h->windows[i])
			return i;
		size_t n = windows_of(h, h->windows[i]->who);
		if (n > most || (n == most && found < HTTP_WINDOWS && h->windows[i]->due_ns > h->windows[found]->due_ns)) {
			found = i;
			most = n;
		}
	}
	if (found < HTTP_WINDOWS) {
		serve_unmark(h->windows[found]);
		exchange_fail(h->windows[found], 429, too_many);
	}
	return found;
}

static void begin_window(struct exchange *x)
{
	struct http *h = x->h;
	struct err err = { 0 };
	size_t i = place_for(h, x->who);
	if (i == HTTP_WINDOWS) {
		exchange_fail(x, 429, too_many);
		return;
	}
	h->windows[i] = NULL;
	int rc = h->source->mark(h->source->ctx, x->req.pid, x->req.shown, &x->since, &err);
	if (rc) {
		fail(x, rc, &err);
		return;
	}
	x->due_ns = now_ns() + x->req.seconds * 1000000000ull;
	x->stage = STAGE_WINDOW;
	h->windows[i] = x;
}

static void check_window(struct exchange **window, uint64_t now)
{
	struct exchange *x = *window;
	if (!x)
		return;
	if (http_is_gone(x->fd)) {
		*window = NULL;
		serve_unmark(x);
		exchange_fail(x, 503, gone);
	} else if (now >= x->due_ns) {
		*window = NULL;
		ask_profile(x, NULL);
	}
}

void http_process_ends(struct http *h, uint32_t pid, const char *why)
{
	for (size_t i = 0; i < HTTP_WINDOWS; i++) {
		struct exchange *x = h->windows[i];
		if (!x || x->req.pid != pid)
			continue;
		h->windows[i] = NULL;
		ask_profile(x, why);
	}
}

static void forget(struct http *h, struct baseline *b)
{
	if (b->mark)
		h->source->unmark(h->source->ctx, b->mark);
	*b = (struct baseline){ 0 };
}

static int note_traced(void *ctx, const struct http_process *p)
{
	struct http *h = ctx;
	for (size_t i = 0; i < HTTP_BASELINES; i++)
		h->baselines[i].traced |= h->baselines[i].pid == p->pid;
	return 0;
}

static void forget_gone(struct http *h)
{
	for (size_t i = 0; i < HTTP_BASELINES; i++)
		h->baselines[i].traced = !h->baselines[i].pid;
	h->source->each_process(h->source->ctx, note_traced, h);
	for (size_t i = 0; i < HTTP_BASELINES; i++) {
		if (!h->baselines[i].traced)
			forget(h, &h->baselines[i]);
	}
}

static struct baseline *baseline_of(struct http *h, const struct request *r)
{
	struct baseline *oldest = &h->baselines[0];
	for (size_t i = 0; i < HTTP_BASELINES; i++) {
		if (h->baselines[i].mark && h->baselines[i].pid == r->pid && h->baselines[i].shown == r->shown)
			return &h->baselines[i];
	}
	forget_gone(h);
	for (size_t i = 0; i < HTTP_BASELINES; i++) {
		if (h->baselines[i].used < oldest->used)
			oldest = &h->baselines[i];
	}
	forget(h, oldest);
	oldest->pid = r->pid;
	oldest->shown = r->shown;
	return oldest;
}

/* Allocations since the last such request; the first one counts from the start of the recording. */
static void ask_delta(struct exchange *x)
{
	struct http *h = x->h;
	struct http_mark *now;
	struct err err = { 0 };
	int rc = h->source->mark(h->source->ctx, x->req.pid, x->req.shown, &now, &err);
	if (rc) {
		fail(x, rc, &err);
		return;
	}
	struct baseline *b = baseline_of(h, &x->req);
	x->since = b->mark;
	b->mark = now;
	b->used = ++h->uses;
	ask_profile(x, NULL);
}

/* --- everything else --------------------------------------------------------------------------- */

static void answer_ready(struct exchange *x)
{
	struct http_status st = { 0 };
	struct buf body = { 0 };
	int rc = x->h->source->status(x->h->source->ctx, &st);
	buf_adds(&body, rc || !st.ready ? "starting\n" : "ready\n");
	exchange_answer(x, rc || !st.ready ? 503 : 200, mime_text, &body);
}

/* Pages of current values. Returns the source's error, if any. */
static int write_page(struct exchange *x, struct buf *out, const char **mime)
{
	const struct http *h = x->h;
	switch (x->req.route) {
	case ROUTE_PAGE: *mime = mime_html; return page_write(h->source, &x->req, out);
	case ROUTE_INDEX:
		*mime = mime_html;
		page_index(out);
		return 0;
	case ROUTE_STYLE:
		*mime = "text/css; charset=utf-8";
		buf_adds(out, page_style);
		return 0;
	case ROUTE_SD: *mime = "application/json"; return sd_write(h->source, x->host, out);
	case ROUTE_METRICS: *mime = "text/plain; version=0.0.4; charset=utf-8"; return metrics_write(x->h, x->req.pid, out);
	default: return -ENOENT;
	}
}

static void serve(struct exchange *x)
{
	struct buf body = { 0 };
	const char *mime;
	int rc;
	switch (x->req.route) {
	case ROUTE_HEAP:
	case ROUTE_ALLOCS:
	case ROUTE_DELTA_HEAP:
		if (x->req.seconds)
			begin_window(x);
		else if (x->req.route == ROUTE_DELTA_HEAP)
			ask_delta(x);
		else
			ask_profile(x, NULL);
		return;
	case ROUTE_REPORT: ask_profile(x, NULL); return;
	case ROUTE_READY: answer_ready(x); return;
	default:
		rc = write_page(x, &body, &mime);
		if (rc)
			exchange_fail(x, status_of(rc), rc == -ENOENT ? "no such process is traced" : strerror(-rc));
		else
			exchange_answer(x, 200, mime, &body);
		buf_free(&body);
	}
}

static void take_queued(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	struct exchange *newest = h->queued, *oldest = NULL, *next;
	h->queued = NULL;
	h->turned_ns = now_ns();
	pthread_mutex_unlock(&h->lock);
	for (; newest; newest = next) {
		next = newest->next;
		newest->next = oldest;
		oldest = newest;
	}
	for (; oldest; oldest = oldest->next)
		h->pending[h->pending_cnt++] = oldest;
}

/* When this user was last served. A new user replaces the one not served for longest. */
static struct turn *turn_of(struct http *h, uint64_t who)
{
	struct turn *oldest = &h->turns[0];
	for (size_t i = 0; i < HTTP_TURNS; i++) {
		if (h->turns[i].no && h->turns[i].who == who)
			return &h->turns[i];
		if (h->turns[i].no < oldest->no)
			oldest = &h->turns[i];
	}
	*oldest = (struct turn){ .who = who };
	return oldest;
}

/* The oldest request of the user who was served longest ago. */
static struct exchange *next_pending(struct http *h)
{
	size_t best = 0;
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < h->pending_cnt; i++) {
		uint64_t no = turn_of(h, h->pending[i]->who)->no;
		if (no < least) {
			best = i;
			least = no;
		}
	}
	struct exchange *x = h->pending[best];
	memmove(h->pending + best, h->pending + best + 1, (--h->pending_cnt - best) * sizeof(h->pending[0]));
	turn_of(h, x->who)->no = ++h->turns_cnt;
	return x;
}

/* The ring buffer is not read meanwhile, so what exceeds TURN_NS is continued in the next turn. */
static void serve_some(struct http *h)
{
	uint64_t end = now_ns() + TURN_NS;
	while (h->pending_cnt && now_ns() < end) {
		struct exchange *x = next_pending(h);
		if (http_is_gone(x->fd))
			exchange_fail(x, 503, gone);
		else
			serve(x);
	}
	if (h->pending_cnt)
		http_wake(h);
}

/* libmicrohttpd does not notice a disconnect while suspended: cancel such requests here, except windows (check_window). */
static void leave_gone(struct http *h)
{
	struct exchange *left[HTTP_PLACES];
	size_t n = 0;
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		struct exchange *x = h->waiting[i];
		if (x && x->stage == STAGE_ASKED && http_is_gone(x->fd))
			left[n++] = x;
	}
	pthread_mutex_unlock(&h->lock);
	for (size_t i = 0; i < n && h->source->forget; i++)
		h->source->forget(h->source->ctx, &left[i]->later);
}

/* Runs only while clients are connected. */
static void set_timer(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	bool busy = h->clients_cnt;
	pthread_mutex_unlock(&h->lock);
	if (busy == h->ticking)
		return;
	struct timespec tick = { .tv_nsec = busy ? TICK_NS : 0 };
	timerfd_settime(h->timer_fd, 0, &(struct itimerspec){ tick, tick }, NULL);
	h->ticking = busy;
}

void http_serve_pending(struct http *h)
{
	uint64_t n;
	while (read(h->wake_fd, &n, sizeof(n)) > 0 || read(h->timer_fd, &n, sizeof(n)) > 0)
		;
	uint64_t now = now_ns();
	take_finished(h);
	for (size_t i = 0; i < HTTP_WINDOWS; i++)
		check_window(&h->windows[i], now);
	take_queued(h);
	serve_some(h);
	if (now - h->looked_ns >= TICK_NS) {
		leave_gone(h);
		h->looked_ns = now;
	}
	set_timer(h);
}
