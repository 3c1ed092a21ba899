/* probe/leaving: see leaving.h. */
#include "probe/leaving.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/vec.h"

#define THREADS_MAX 32
/* Descriptors are held until then. */
#define WAITING_MAX 1024

static struct {
	pthread_mutex_t lock;
	pthread_cond_t less;
	struct attachment *list;
	size_t list_cnt, list_cap;
	size_t under_way; /* taken from the list, not gone yet */
	size_t threads;
} leaving = { .lock = PTHREAD_MUTEX_INITIALIZER, .less = PTHREAD_COND_INITIALIZER };

static void let_go(const struct attachment *a)
{
	if (a->fd >= 0)
		close(a->fd);
	bpf_link__destroy(a->perf);
}

/* The lock is held, but not while the kernel works. */
static void let_go_first(void)
{
	struct attachment a = leaving.list[0];
	memmove(leaving.list, leaving.list + 1, --leaving.list_cnt * sizeof(a));
	leaving.under_way++;
	pthread_mutex_unlock(&leaving.lock);
	let_go(&a);
	pthread_mutex_lock(&leaving.lock);
	leaving.under_way--;
	pthread_cond_broadcast(&leaving.less);
}

static void *let_go_some(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&leaving.lock);
	while (leaving.list_cnt)
		let_go_first();
	leaving.threads--;
	pthread_cond_broadcast(&leaving.less);
	pthread_mutex_unlock(&leaving.lock);
	return NULL;
}

/* Signals are for the thread that knows what to do about them. */
static bool add_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	bool made = !pthread_create(&thread, &attr, let_go_some, NULL);
	leaving.threads += made;
	pthread_attr_destroy(&attr);
	return made;
}

/* A thread that is ended in the middle leaves probes in the kernel that nobody owns any more. */
static bool will_be_awaited(void)
{
	static bool registered;
	registered = registered || !atexit(leaving_await);
	return registered;
}

void leaving_put(const struct attachment *list, size_t n)
{
	pthread_mutex_lock(&leaving.lock);
	for (size_t i = 0; i < n; i++) {
		struct attachment *a = VEC_PUSH(&leaving, list);
		if (a)
			*a = list[i];
		else
			let_go(&list[i]);
	}
	while (will_be_awaited() && leaving.threads < THREADS_MAX &&
	       leaving.threads < leaving.list_cnt + leaving.under_way && add_thread())
		;
	while (leaving.threads && leaving.list_cnt > WAITING_MAX)
		pthread_cond_wait(&leaving.less, &leaving.lock);
	while (!leaving.threads && leaving.list_cnt)
		let_go_first();
	pthread_mutex_unlock(&leaving.lock);
}

void leaving_await(void)
{
	pthread_mutex_lock(&leaving.lock);
	while (leaving.list_cnt || leaving.under_way || leaving.threads)
		pthread_cond_wait(&leaving.less, &leaving.lock);
	pthread_mutex_unlock(&leaving.lock);
}
