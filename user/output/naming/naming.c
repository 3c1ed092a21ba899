/* SPDX-License-Identifier: Apache-2.0 */
/* naming: see naming.h. */
#include "naming/naming.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "naming/namer.h"
#include "naming/subset.h"

#define TIMEOUT_NS 300000000 /* how long to wait for a running job at the end */
#define STACKS_MAX 16384     /* stacks per job; they are copied for it */
#define ROOM_LEAST (4ull << 20)

/* Used by the thread; the owner reads it only after the thread has ended. */
struct job {
	struct symbolizer *symbolizer;
	struct catalog *catalog;
	uint32_t upto;
	int done;
};

struct naming {
	const struct handles *h;
	struct job *job; /* NULL: no job is running */
	pthread_t thread;
	int done;
	uint32_t reached;
	uint64_t failures;
	uint64_t room;
};

struct naming *naming_new(const struct handles *h, struct err *err)
{
	struct naming *n = calloc(1, sizeof(*n));
	if (!n) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	n->h = h;
	n->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return n;
}

int naming_fd(const struct naming *n)
{
	return n->done;
}

uint32_t naming_reached(const struct naming *n)
{
	return n->reached;
}

bool naming_is_busy(const struct naming *n)
{
	return n->job;
}

uint64_t naming_failures(const struct naming *n)
{
	return n->failures;
}

static void job_free(struct job *j)
{
	if (!j)
		return;
	symbolizer_free(j->symbolizer);
	catalog_free(j->catalog);
	free(j);
}

static void *run(void *ctx)
{
	struct job *j = ctx;
	struct err err;
	uint64_t one = 1;
	if (symbolizer_run(j->symbolizer, j->catalog, NULL, NULL, &err))
		log_warn("names: %s", err.text);
	return write(j->done, &one, sizeof(one)) < 0 ? NULL : ctx;
}

static int start(struct naming *n, struct job *j, struct err *err)
{
	int rc = signals_thread(&n->thread, run, j);
	return rc ? err_set(err, rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

static struct job *prepare(struct naming *n, uint32_t last, struct err *err)
{
	const struct handles *h = n->h;
	const struct stack *s;
	struct job *j = calloc(1, sizeof(*j));
	if (!j || !(j->catalog = catalog_new()))
		goto failed;
	j->done = n->done;
	j->upto = last;
	struct subset part = { .from = h->catalog, .to = j->catalog };
	size_t taken = 0;
	for (size_t i = 0; taken < STACKS_MAX && (s = catalog_next_stack(h->catalog, &i));) {
		if (s->id.n <= n->reached)
			continue;
		subset_stack(&part, s);
		if (++taken == STACKS_MAX)
			j->upto = s->id.n;
	}
	j->symbolizer = namer_of_recording(h, j->catalog, n->room > ROOM_LEAST ? n->room : ROOM_LEAST, err);
	if (j->symbolizer)
		return j;
failed:
	err_set(err, ENOMEM, "out of memory: stacks have addresses, but no names");
	job_free(j);
	return NULL;
}

int naming_begin(struct naming *n, uint32_t last, struct err *err)
{
	if (n->job || n->reached == last)
		return 0;
	if (n->h->o->backtrace < BACKTRACE_NAME) {
		n->reached = last;
		return 0;
	}
	struct job *j = prepare(n, last, err);
	int rc = j ? start(n, j, err) : -ENOMEM;
	if (!rc)
		n->job = j;
	else
		job_free(j);
	return rc;
}

void naming_set_room(struct naming *n, uint64_t bytes)
{
	n->room = bytes;
}

static void note_failures(struct naming *n, const struct catalog *c)
{
	const struct count *k;
	for (size_t i = 0; (k = catalog_next_count(c, &i));) {
		if (!strncmp(k->name, "symbols-", 8))
			n->failures += k->value;
	}
}

bool naming_collect(struct naming *n)
{
	uint64_t told;
	if (!n->job || read(n->done, &told, sizeof(told)) < 0)
		return false;
	pthread_join(n->thread, NULL);
	struct subset part = { .to = n->job->catalog };
	subset_give_names(&part, n->h->catalog);
	note_failures(n, n->job->catalog);
	n->reached = n->job->upto;
	job_free(n->job);
	n->job = NULL;
	return true;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TIMEOUT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	/* A worker may take seconds to answer; what the thread holds is freed when the process exits. */
	if (n->job && pthread_timedjoin_np(n->thread, NULL, &until))
		return;
	job_free(n->job);
	close(n->done);
	free(n);
}
