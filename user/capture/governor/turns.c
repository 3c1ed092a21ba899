/* SPDX-License-Identifier: Apache-2.0 */
/* governor/turns: see turns.h. */
#include "governor/turns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "probe/window.h"

struct turns {
	struct probe *probe;
	void (*count)(void *ctx, bool closed);
	void *ctx;
	int news_fd; /* eventfd */
	pthread_t thread;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t asked, done;
	struct turn turn;
	bool wanted, busy, quits, threaded;
};

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/* With the lock: what it tells of and the eventfd change together. */
static void tell(struct turns *t)
{
	if (write(t->news_fd, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0)
		log_dbg("eventfd: %s", strerror(errno));
}

/* The other results are not used before. */
static void publish_closed(struct turns *t, uint64_t ns)
{
	pthread_mutex_lock(&t->lock);
	t->turn.closed_ns = ns;
	if (t->turn.window)
		tell(t);
	pthread_mutex_unlock(&t->lock);
}

static void publish_done(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->turn.done_ns = now_ns();
	t->busy = false;
	pthread_cond_broadcast(&t->done);
	tell(t);
	pthread_mutex_unlock(&t->lock);
}

static void open_window(struct turns *t)
{
	probe_window_attach(t->probe);
	t->turn.opened_ns = now_ns();
	probe_window_open(t->probe, t->turn.interval);
	t->count(t->ctx, false);
	sleep_ns(t->turn.length_ns);
}

static void do_turn(struct turns *t)
{
	if (t->turn.leave) {
		probe_window_leave(t->probe);
		publish_done(t);
		return;
	}
	if (t->turn.window)
		open_window(t);
	t->count(t->ctx, true);
	uint64_t closed = now_ns();
	if (t->turn.stay)
		probe_window_open(t->probe, t->turn.interval_then);
	else
		probe_window_shut(t->probe, t->turn.interval_then);
	publish_closed(t, closed);
	if (!t->turn.stay) {
		sleep_ns(TURN_COME_BACK_NS);
		probe_window_detach(t->probe);
	}
	publish_done(t);
}

static void *take_turns(void *ctx)
{
	struct turns *t = ctx;
	pthread_mutex_lock(&t->lock);
	while (!t->quits) {
		if (!t->wanted) {
			pthread_cond_wait(&t->asked, &t->lock);
			continue;
		}
		t->wanted = false;
		pthread_mutex_unlock(&t->lock);
		do_turn(t);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

struct turns *turns_new(struct probe *p, void (*count)(void *ctx, bool closed), void *ctx, struct err *err)
{
	struct turns *t = calloc(1, sizeof(*t));
	if (!t) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	*t = (struct turns){ .probe = p, .count = count, .ctx = ctx, .news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->asked, NULL);
	pthread_cond_init(&t->done, NULL);
	if (t->news_fd >= 0)
		return t;
	err_set(err, errno, "eventfd: %s", strerror(errno));
	free(t);
	return NULL;
}

/* The thread begins with the first turn: a daemon splits into two processes before, and only one of them would have it. */
bool turns_ask(struct turns *t, const struct turn *what)
{
	pthread_mutex_lock(&t->lock);
	if (!t->threaded)
		t->threaded = !signals_thread(&t->thread, take_turns, t);
	if (t->threaded) {
		t->turn = *what;
		t->wanted = t->busy = true;
		pthread_cond_signal(&t->asked);
	}
	bool begun = t->threaded;
	pthread_mutex_unlock(&t->lock);
	return begun;
}

struct turn turns_now(struct turns *t)
{
	uint64_t times;
	pthread_mutex_lock(&t->lock);
	if (read(t->news_fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
		log_dbg("eventfd: %s", strerror(errno));
	struct turn now = t->turn;
	pthread_mutex_unlock(&t->lock);
	return now;
}

int turns_fd(const struct turns *t)
{
	return t->news_fd;
}

void turns_await(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	while (t->busy)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void turns_free(struct turns *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->quits = true;
	pthread_cond_signal(&t->asked);
	pthread_mutex_unlock(&t->lock);
	if (t->threaded)
		pthread_join(t->thread, NULL);
	close(t->news_fd);
	free(t);
}
