/* SPDX-License-Identifier: Apache-2.0 */
/* probe/detaching: see detaching.h. */
#include "probe/detaching.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "base/vec.h"
#include "unkilled/unkilled.h"

#define THREADS_MAX 32
/* Limits the number of open descriptors. */
#define WAITING_MAX 1024

struct pending_detach {
	struct attachment what;
	uint64_t no; /* unique, because descriptors are reused */
	bool begun;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t less;
	struct pending_detach *list; /* until they are detached */
	size_t list_cnt, list_cap;
	size_t waiting; /* not begun */
	size_t threads;
	uint64_t last_no;
} detaching = { .lock = PTHREAD_MUTEX_INITIALIZER, .less = PTHREAD_COND_INITIALIZER };

static void detach_now(const struct attachment *a)
{
	if (a->fd >= 0)
		unkilled_close(a->fd);
}

static void take_out(uint64_t no)
{
	size_t i = 0;
	while (detaching.list[i].no != no)
		i++;
	size_t behind = --detaching.list_cnt - i;
	memmove(detaching.list + i, detaching.list + i + 1, behind * sizeof(*detaching.list));
}

/* The lock is held, except while the kernel detaches. At least one is waiting. */
static void detach_next(void)
{
	struct pending_detach *d = detaching.list;
	while (d->begun)
		d++;
	struct pending_detach mine = *d;
	d->begun = true;
	detaching.waiting--;
	pthread_mutex_unlock(&detaching.lock);
	detach_now(&mine.what);
	pthread_mutex_lock(&detaching.lock);
	take_out(mine.no);
	pthread_cond_broadcast(&detaching.less);
}

static void *detach_waiting(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&detaching.lock);
	while (detaching.waiting)
		detach_next();
	detaching.threads--;
	pthread_cond_broadcast(&detaching.less);
	pthread_mutex_unlock(&detaching.lock);
	return NULL;
}

static bool add_thread(void)
{
	bool made = !signals_thread(NULL, detach_waiting, NULL);
	detaching.threads += made;
	return made;
}

/* Waits at exit: a thread that is killed while it detaches leaves probes in the kernel that nobody owns. */
static bool will_be_awaited(void)
{
	static bool registered;
	registered = registered || !atexit(detaching_await);
	return registered;
}

void detaching_put(const struct attachment *list, size_t n)
{
	pthread_mutex_lock(&detaching.lock);
	for (size_t i = 0; i < n; i++) {
		struct pending_detach *d = VEC_PUSH(&detaching, list);
		if (d)
			*d = (struct pending_detach){ .what = list[i], .no = ++detaching.last_no };
		else
			detach_now(&list[i]);
		detaching.waiting += d != NULL;
	}
	while (will_be_awaited() && detaching.threads < THREADS_MAX && detaching.threads < detaching.list_cnt && add_thread())
		;
	while (detaching.threads && detaching.waiting > WAITING_MAX)
		pthread_cond_wait(&detaching.less, &detaching.lock);
	while (!detaching.threads && detaching.waiting)
		detach_next();
	pthread_mutex_unlock(&detaching.lock);
}

/* This thread runs already, others have to be given a processor first: meanwhile a program stops at probes for nothing. */
void detaching_await(void)
{
	pthread_mutex_lock(&detaching.lock);
	while (detaching.waiting)
		detach_next();
	while (detaching.list_cnt || detaching.threads)
		pthread_cond_wait(&detaching.less, &detaching.lock);
	pthread_mutex_unlock(&detaching.lock);
}

/* The lock is held. */
static bool holds(struct probe_file file, uint32_t tgid)
{
	for (size_t i = 0; i < detaching.list_cnt; i++) {
		const struct attachment *a = &detaching.list[i].what;
		if (probe_file_same(a->file, file) && (!tgid || !a->tgid || a->tgid == tgid))
			return true;
	}
	return false;
}

bool detaching_holds(struct probe_file file, uint32_t tgid)
{
	pthread_mutex_lock(&detaching.lock);
	bool held = holds(file, tgid);
	pthread_mutex_unlock(&detaching.lock);
	return held;
}

void detaching_await_of(struct probe_file file, uint32_t tgid)
{
	pthread_mutex_lock(&detaching.lock);
	while (holds(file, tgid))
		pthread_cond_wait(&detaching.less, &detaching.lock);
	pthread_mutex_unlock(&detaching.lock);
}
