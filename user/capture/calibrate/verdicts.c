/* calibrate/verdicts: see verdicts.h. */
#include "calibrate/verdicts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/vec.h"
#include "helper/helper.h"

struct verdicts {
	int bell;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	bool working, closing;
	struct verdict_order *orders; /* owned, with their paths and descriptors */
	size_t orders_cnt, orders_cap;
	struct verdict_on *done;
	size_t done_cnt, done_cap;
};

/*
 * Sites that were wrong once give way to plain `ret`s. Sites that could not be tried stay: what they
 * rest on is read from the code itself, and most of these files (executables) can never be tried alone.
 * A refill is no single call that could be compared: for it, too, the sites of calls are tried, which rest on
 * the same facts.
 */
void verdict_now(struct verdict_order *o, struct verdict_on *out)
{
	*out = (struct verdict_on){ .module = o->module, .said = { .verdict = VERDICT_UNPROVEN } };
	calibrate(&o->calls, o->fd, &out->said);
	if (out->said.verdict != VERDICT_WRONG)
		return;
	out->plain = o->plain;
	o->plain = (struct site_list){ 0 };
}

void verdict_order_free(struct verdict_order *o)
{
	sites_free(&o->calls);
	sites_free(&o->plain);
}

static void order_free(struct verdict_order *o)
{
	close(o->fd);
	verdict_order_free(o);
}

/* The lock is held, but not while the helper works. */
static void work_once(struct verdicts *v)
{
	struct verdict_order o = v->orders[0];
	struct verdict_on found;
	memmove(v->orders, v->orders + 1, --v->orders_cnt * sizeof(o));
	pthread_mutex_unlock(&v->lock);
	verdict_now(&o, &found);
	order_free(&o);
	pthread_mutex_lock(&v->lock);
	struct verdict_on *place = VEC_PUSH(v, done);
	if (place)
		*place = found;
	else
		sites_free(&found.plain);
	eventfd_write(v->bell, 1);
}

static void *work(void *ctx)
{
	struct verdicts *v = ctx;
	pthread_mutex_lock(&v->lock);
	while (v->orders_cnt && !v->closing)
		work_once(v);
	v->working = false;
	pthread_cond_signal(&v->idle);
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

/* Signals are for the thread that knows what to do about them. */
static int start(struct verdicts *v)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &attr, work, v);
	pthread_attr_destroy(&attr);
	v->working = !rc;
	return -rc;
}

struct verdicts *verdicts_new(void)
{
	struct verdicts *v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->bell < 0) {
		free(v);
		return NULL;
	}
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->idle, NULL);
	return v;
}

void verdicts_free(struct verdicts *v)
{
	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->closing = true;
	helper_hurry(true);
	while (v->working)
		pthread_cond_wait(&v->idle, &v->lock);
	helper_hurry(false);
	pthread_mutex_unlock(&v->lock);
	for (size_t i = 0; i < v->orders_cnt; i++)
		order_free(&v->orders[i]);
	for (size_t i = 0; i < v->done_cnt; i++)
		sites_free(&v->done[i].plain);
	free(v->orders);
	free(v->done);
	close(v->bell);
	pthread_cond_destroy(&v->idle);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

int verdicts_fd(const struct verdicts *v)
{
	return v->bell;
}

int verdicts_ask(struct verdicts *v, const struct verdict_order *o)
{
	struct verdict_order copy = *o;
	copy.fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	int rc = copy.fd < 0 ? -errno : 0;
	pthread_mutex_lock(&v->lock);
	struct verdict_order *place = rc ? NULL : VEC_PUSH(v, orders);
	if (place) {
		*place = copy;
		rc = v->working ? 0 : start(v);
		v->orders_cnt -= rc != 0;
	} else if (!rc) {
		rc = -ENOMEM;
	}
	pthread_mutex_unlock(&v->lock);
	if (rc && copy.fd >= 0)
		close(copy.fd);
	return rc;
}

bool verdicts_take(struct verdicts *v, struct verdict_on *out)
{
	eventfd_t rung;
	pthread_mutex_lock(&v->lock);
	bool any = v->done_cnt;
	if (any)
		*out = v->done[--v->done_cnt];
	else
		eventfd_read(v->bell, &rung);
	pthread_mutex_unlock(&v->lock);
	return any;
}
