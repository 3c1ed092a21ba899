/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/viewer: see viewer.h. */
#include "daemon/viewer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/ctl.h"
#include "daemon/protocol.h"

#define EVERY_S 1
/* The daemon answers when all stacks are symbolized, which can take long for all programs of a machine. */
#define PATIENCE_S 60
/* Quitting does not wait for a pending answer longer than this. */
#define FAREWELL_NS 200000000

struct viewer {
	const char *socket;
	struct request request;
	pthread_t thread;
	bool running;

	pthread_mutex_t lock; /* for the fields below */
	pthread_cond_t changed;
	bool ending;
	struct buf list; /* empty = already consumed */
	struct err err;  /* code 0 = none */
};

static int fetch(struct viewer *v, struct buf *out, struct err *err)
{
	return ctl_fetch(v->socket, &v->request, PATIENCE_S, out, err);
}

/* No daemon is running: retried, as it may be restarting. Errors that a daemon reports (process not traced) are final. */
static bool is_absent(const struct err *err)
{
	return err->code == ECONNREFUSED || err->code == ENOENT || err->code == ECONNRESET || err->code == EPIPE;
}

/* The lock is held. */
static void pause_for(struct viewer *v, int seconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	while (!v->ending && pthread_cond_timedwait(&v->changed, &v->lock, &until) != ETIMEDOUT)
		;
}

static void *run(void *arg)
{
	struct viewer *v = arg;
	pthread_mutex_lock(&v->lock);
	while (!v->ending && (!v->err.code || is_absent(&v->err))) {
		struct buf list = { 0 };
		struct err err = { 0 };
		pthread_mutex_unlock(&v->lock);
		fetch(v, &list, &err);
		pthread_mutex_lock(&v->lock);
		v->err = err;
		if (!err.code) {
			buf_free(&v->list);
			v->list = list;
		} else {
			buf_free(&list);
		}
		if (!err.code || is_absent(&err))
			pause_for(v, EVERY_S);
	}
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

static int poll_list(void *ctx, struct buf *out, struct err *err)
{
	struct viewer *v = ctx;
	int rc = 0;
	pthread_mutex_lock(&v->lock);
	if (v->list.len) {
		buf_free(out);
		*out = v->list;
		v->list = (struct buf){ 0 };
		rc = 1;
	} else if (v->err.code) {
		*err = v->err;
		rc = is_absent(err) ? -EAGAIN : -err->code;
	}
	pthread_mutex_unlock(&v->lock);
	return rc;
}

struct viewer *viewer_new(const char *socket, uint32_t pid, struct err *err)
{
	struct viewer *v = calloc(1, sizeof(*v));
	if (!v) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	v->socket = socket;
	v->request = (struct request){ .verb = REQUEST_SNAPSHOT, .pid = pid };
	snprintf(v->request.format, sizeof(v->request.format), "feed");
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->changed, NULL);
	/* The first fetch precedes the full-screen mode, so that "no daemon" is an ordinary message. */
	int rc = fetch(v, &v->list, err);
	if (!rc && (rc = pthread_create(&v->thread, NULL, run, v)))
		err_set(err, rc, "no thread for the daemon: %s", strerror(rc));
	v->running = !rc;
	if (!rc)
		return v;
	viewer_free(v);
	return NULL;
}

struct top_source viewer_source(struct viewer *v)
{
	return (struct top_source){ .ctx = v, .poll = poll_list };
}

/* False if the thread is still waiting for an answer. */
static bool end_thread(struct viewer *v)
{
	struct timespec until;
	pthread_mutex_lock(&v->lock);
	v->ending = true;
	pthread_cond_signal(&v->changed);
	pthread_mutex_unlock(&v->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += FAREWELL_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !v->running || !pthread_timedjoin_np(v->thread, NULL, &until);
}

void viewer_free(struct viewer *v)
{
	/* The thread still uses v: leaked, as the process exits next. */
	if (!end_thread(v))
		return;
	pthread_cond_destroy(&v->changed);
	pthread_mutex_destroy(&v->lock);
	buf_free(&v->list);
	free(v);
}
