/* SPDX-License-Identifier: Apache-2.0 */
/* http/exchange: see exchange.h. */
#include "http/exchange.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

void http_wake(struct http *h)
{
	uint64_t one = 1;
	if (write(h->wake_fd, &one, sizeof(one)) < 0)
		return; /* counter full: the wakeup is pending already */
}

void http_put(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	bool last = !--h->refs;
	pthread_mutex_unlock(&h->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&h->lock);
	int fds[] = { h->timer_fd, h->wake_fd, h->epoll_fd, h->admission_wake_fd, h->admission_epoll_fd };
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	free(h);
}

void exchange_put(struct exchange *x)
{
	pthread_mutex_lock(&x->h->lock);
	bool last = !--x->refs;
	pthread_mutex_unlock(&x->h->lock);
	if (!last)
		return;
	buf_free(&x->body);
	free(x);
}

/* The lock is held. False if it was answered before. */
static bool leave_waiting(struct exchange *x)
{
	for (size_t i = 0; i < HTTP_PLACES; i++) {
		if (x->h->waiting[i] == x) {
			x->h->waiting[i] = NULL;
			return true;
		}
	}
	return false;
}

void exchange_answer(struct exchange *x, unsigned int status, const char *mime, struct buf *body)
{
	struct MHD_Connection *conn = x->conn;
	struct http *h = x->h;
	if (body->failed) {
		buf_free(body);
		exchange_fail(x, 503, "out of memory for the answer");
		return;
	}
	pthread_mutex_lock(&x->h->lock);
	bool wanted = leave_waiting(x);
	if (wanted) {
		x->status = status;
		x->mime = mime;
		x->body = *body;
		x->answered = true;
		*body = (struct buf){ 0 };
	}
	pthread_mutex_unlock(&x->h->lock);
	buf_free(body);
	if (wanted) {
		MHD_resume_connection(conn);
		admission_wake(h);
	}
}

void exchange_fail(struct exchange *x, unsigned int status, const char *text)
{
	struct buf body = { 0 };
	text_clean(&body, text, SIZE_MAX);
	buf_u8(&body, '\n');
	/* Without memory for the text, send the status alone. */
	body.failed = false;
	exchange_answer(x, status, "text/plain; charset=utf-8", &body);
}

void exchange_later(struct http_deferred *later, int rc, struct buf *out, const struct err *err)
{
	struct exchange *x = (struct exchange *)later;
	struct http *h = x->h;
	pthread_mutex_lock(&h->lock);
	bool wanted = !h->closed;
	if (wanted) {
		x->status = rc ? (unsigned int)-rc : 0;
		if (rc && err)
			x->err = *err;
		if (!rc) {
			x->body = *out;
			*out = (struct buf){ 0 };
		}
		x->next = h->finished;
		h->finished = x;
	}
	pthread_mutex_unlock(&h->lock);
	if (wanted) {
		http_wake(h); /* the owner drops the references */
		return;
	}
	buf_free(out);
	exchange_put(x);
	http_put(h);
}
