/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate/results: see results.h. */
#include "calibrate/results.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/vec.h"
#include "helper/helper.h"

struct calibration_queue {
	int wake_fd;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	bool working, closing;
	struct calibration_request *orders; /* owned, with their paths and descriptors */
	size_t orders_cnt, orders_cap;
	struct calibration_result *done;
	size_t done_cnt, done_cap;
};

/*
 * Sites that were wrong once are replaced by plain `ret`s. Sites that could not be tried stay: they are derived from
 * the code itself, and most of these files (executables) can never be loaded alone. A refill is no single call that
 * could be compared: for refills, too, the sites of calls are tried, which are derived from the same facts.
 */
void calibration_now(struct calibration_request *o, struct calibration_result *out)
{
	*out = (struct calibration_result){ .module = o->module, .said = { .outcome = CALIBRATION_UNPROVEN } };
	calibrate(&o->calls, o->fd, &out->said);
	if (out->said.outcome != CALIBRATION_WRONG)
		return;
	out->plain = o->plain;
	o->plain = (struct site_list){ 0 };
}

void calibration_request_free(struct calibration_request *o)
{
	sites_free(&o->calls);
	sites_free(&o->plain);
}

static void order_free(struct calibration_request *o)
{
	close(o->fd);
	calibration_request_free(o);
}

/* The lock is held, except while the helper works. */
static void work_once(struct calibration_queue *v)
{
	struct calibration_request o = v->orders[0];
	struct calibration_result found;
	memmove(v->orders, v->orders + 1, --v->orders_cnt * sizeof(o));
	pthread_mutex_unlock(&v->lock);
	calibration_now(&o, &found);
	order_free(&o);
	pthread_mutex_lock(&v->lock);
	struct calibration_result *place = VEC_PUSH(v, done);
	if (place)
		*place = found;
	else
		sites_free(&found.plain);
	eventfd_write(v->wake_fd, 1);
}

static void *work(void *ctx)
{
	struct calibration_queue *v = ctx;
	pthread_mutex_lock(&v->lock);
	while (v->orders_cnt && !v->closing)
		work_once(v);
	v->working = false;
	pthread_cond_signal(&v->idle);
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

static int start(struct calibration_queue *v)
{
	int rc = signals_thread(NULL, work, v);
	v->working = !rc;
	return -rc;
}

struct calibration_queue *calibration_queue_new(void)
{
	struct calibration_queue *v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->wake_fd < 0) {
		free(v);
		return NULL;
	}
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->idle, NULL);
	return v;
}

void calibration_queue_free(struct calibration_queue *v)
{
	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->closing = true;
	helper_cancel_waits(true);
	while (v->working)
		pthread_cond_wait(&v->idle, &v->lock);
	helper_cancel_waits(false);
	pthread_mutex_unlock(&v->lock);
	for (size_t i = 0; i < v->orders_cnt; i++)
		order_free(&v->orders[i]);
	for (size_t i = 0; i < v->done_cnt; i++)
		sites_free(&v->done[i].plain);
	free(v->orders);
	free(v->done);
	close(v->wake_fd);
	pthread_cond_destroy(&v->idle);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

int calibration_queue_fd(const struct calibration_queue *v)
{
	return v->wake_fd;
}

int calibration_queue_ask(struct calibration_queue *v, const struct calibration_request *o)
{
	struct calibration_request copy = *o;
	copy.fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	int rc = copy.fd < 0 ? -errno : 0;
	pthread_mutex_lock(&v->lock);
	struct calibration_request *place = rc ? NULL : VEC_PUSH(v, orders);
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

bool calibration_queue_take(struct calibration_queue *v, struct calibration_result *out)
{
	eventfd_t rung;
	pthread_mutex_lock(&v->lock);
	bool any = v->done_cnt;
	if (any)
		*out = v->done[--v->done_cnt];
	else
		eventfd_read(v->wake_fd, &rung);
	pthread_mutex_unlock(&v->lock);
	return any;
}
