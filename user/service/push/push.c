/* SPDX-License-Identifier: Apache-2.0 */
/* push: requests profiles from the source every few seconds and queues them in the sender. See push.h. */
#include "push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/text.h"
#include "http/deferred.h"
#include "http/process_list.h"
#include "push/sender.h"

#define EVERY_STANDARD 15.0
/* Profiles are sent for this many processes, those with most live bytes. */
#define FOLLOWED_MAX 64

/* A requested profile. */
struct order {
	struct http_deferred later; /* must be first: cast in on_done */
	struct push *p;
	struct payload_who who;
};

struct followed {
	uint32_t pid;           /* 0: the place is free */
	struct http_mark *mark; /* what was sent; NULL: all of it, each time */
	uint64_t round;         /* last one in which the process existed */
};

struct push {
	const struct http_source *source;
	const struct push_backend *backend;
	struct sender *sender;
	int timer_fd;
	struct followed followed[HTTP_MARKS];
	uint64_t round;

	pthread_mutex_t lock; /* for the fields below */
	unsigned int refs;    /* the owner's, and one for each pending profile */
	bool closed;
};

static void push_put(struct push *p)
{
	pthread_mutex_lock(&p->lock);
	bool last = !--p->refs;
	pthread_mutex_unlock(&p->lock);
	if (!last)
		return;
	close(p->timer_fd);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void send_profile(struct push *p, const struct payload_who *who, int rc, const struct buf *profile)
{
	struct payload *payload = rc || profile->failed ? NULL : payload_new(p->backend->kind, who, profile);
	if (payload)
		sender_offer(p->sender, payload);
	else if (rc != -ENOENT) /* -ENOENT: the process has exited, which is no failure */
		sender_note_failed(p->sender);
}

/* Called from any thread. */
static void on_done(struct http_deferred *later, int rc, struct buf *out, const struct err *err)
{
	struct order *o = (struct order *)later;
	struct push *p = o->p;
	(void)err;
	pthread_mutex_lock(&p->lock);
	/* Under the lock: push_close ends the sender only after it has set `closed`. */
	if (!p->closed)
		send_profile(p, &o->who, rc, out);
	pthread_mutex_unlock(&p->lock);
	buf_free(out);
	free(o);
	push_put(p);
}

static void unmark(struct push *p, struct http_mark *m)
{
	if (m)
		p->source->unmark(p->source->ctx, m);
}

static void refs_add(struct push *p, int n)
{
	pthread_mutex_lock(&p->lock);
	p->refs += (unsigned int)n;
	pthread_mutex_unlock(&p->lock);
}

/* Takes ownership of `since`. */
static void ask(struct push *p, const struct payload_who *who, struct http_mark *since)
{
	struct order *o = calloc(1, sizeof(*o));
	struct http_profile_request r = {
		.what = p->backend->profile, .pid = who->pid, .since = since, .samples_max = p->backend->samples_max
	};
	struct buf out = { 0 };
	struct err err = { 0 };
	if (!o) {
		unmark(p, since);
		sender_note_failed(p->sender);
		return;
	}
	*o = (struct order){ .later.done = on_done, .p = p, .who = *who };
	r.later = &o->later;
	refs_add(p, 1);
	int rc = p->source->profile(p->source->ctx, &r, &out, &err);
	unmark(p, since);
	if (rc == HTTP_LATER)
		return;
	refs_add(p, -1);
	send_profile(p, who, rc, &out);
	buf_free(&out);
	free(o);
}

static struct followed *place_of(struct push *p, uint32_t pid)
{
	struct followed *free_one = NULL;
	for (size_t i = 0; i < HTTP_MARKS; i++) {
		struct followed *f = &p->followed[i];
		if (f->pid == pid)
			return f;
		if (!f->pid)
			free_one = f;
	}
	return free_one;
}

static void follow(struct push *p, const struct process_list_entry *e)
{
	struct followed *f = place_of(p, e->pid);
	struct payload_who who = { .pid = e->pid };
	struct http_mark *now;
	memcpy(who.comm, e->comm, sizeof(who.comm));
	memcpy(who.exe, e->exe, sizeof(who.exe));
	memcpy(who.build_id, e->build_id, sizeof(who.build_id));
	if (e->attributes)
		snprintf(who.attributes, sizeof(who.attributes), "%s", e->attributes);
	if (p->backend->whole) {
		if (f)
			*f = (struct followed){ .pid = e->pid, .round = p->round };
		ask(p, &who, NULL);
		return;
	}
	if (!f || p->source->mark(p->source->ctx, e->pid, 0, &now, NULL))
		return;
	struct http_mark *since = f->mark;
	*f = (struct followed){ .pid = e->pid, .mark = now, .round = p->round };
	ask(p, &who, since);
}

static void forget(struct push *p, struct followed *f)
{
	unmark(p, f->mark);
	*f = (struct followed){ 0 };
}

static void forget_gone(struct push *p)
{
	for (size_t i = 0; i < HTTP_MARKS; i++) {
		if (p->followed[i].pid && p->followed[i].round != p->round)
			forget(p, &p->followed[i]);
	}
}

static void next_round(struct push *p)
{
	struct process_list r = { 0 };
	p->round++;
	if (!process_list_read(&r, p->source)) {
		/*
		 * Two passes, so that slots of exited processes are free for new ones. A process that drops out of the largest
		 * FOLLOWED_MAX keeps its mark: without it, all its allocations would be sent a second time.
		 */
		for (size_t i = 0; i < r.at_cnt; i++) {
			struct followed *f = place_of(p, r.at[i].pid);
			if (f && f->pid)
				f->round = p->round;
		}
		forget_gone(p);
		for (size_t i = 0; i < r.at_cnt && i < FOLLOWED_MAX; i++)
			follow(p, &r.at[i]);
	}
	process_list_free(&r);
}

void push_process_ends(struct push *p, uint32_t pid)
{
	struct process_list r = { .pid = pid };
	struct followed *f = place_of(p, pid);
	if (!f || !f->pid)
		return;
	if (!process_list_read(&r, p->source) && r.at_cnt)
		follow(p, &r.at[0]);
	process_list_free(&r);
	forget(p, f);
}

void push_serve_pending(struct push *p)
{
	uint64_t n;
	bool due = false;
	while (read(p->timer_fd, &n, sizeof(n)) > 0)
		due = true;
	if (due)
		next_round(p);
}

static int open_timer(struct push *p, double every, struct err *err)
{
	struct timespec ts = { .tv_sec = (time_t)every, .tv_nsec = (long)((every - (double)(time_t)every) * 1e9) };
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->timer_fd < 0 || timerfd_settime(p->timer_fd, 0, &(struct itimerspec){ ts, ts }, NULL))
		return err_set(err, errno, "no timer for --push: %s", strerror(errno));
	return 0;
}

struct push *push_open(const struct push_options *o, const struct http_source *source, struct err *err)
{
	struct push *p = calloc(1, sizeof(*p));
	if (!p) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	p->timer_fd = -1;
	p->source = source;
	p->refs = 1;
	pthread_mutex_init(&p->lock, NULL);
	if (!open_timer(p, o->every > 0 ? o->every : EVERY_STANDARD, err))
		p->sender = sender_new(o, err);
	if (!p->sender) {
		push_put(p);
		return NULL;
	}
	p->backend = sender_backend(p->sender);
	return p;
}

int push_fd(const struct push *p)
{
	return p->timer_fd;
}

static void put_metric(struct buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name, value);
}

void push_metrics(void *push, struct buf *out)
{
	struct push *p = push;
	struct push_counts n;
	size_t waiting, bytes;
	sender_counts(p->sender, &n, &waiting, &bytes);
	put_metric(out, "alys_push_sent_total", "counter", "Profiles that the server took.", n.sent);
	put_metric(out, "alys_push_retries_total", "counter", "Attempts that the server did not answer, or put off.", n.retries);
	buf_addf(out,
		 "# HELP alys_push_dropped_total Profiles that never reached the server.\n"
		 "# TYPE alys_push_dropped_total counter\n"
		 "alys_push_dropped_total{reason=\"queue-full\"} %" PRIu64 "\n"
		 "alys_push_dropped_total{reason=\"refused\"} %" PRIu64 "\n"
		 "alys_push_dropped_total{reason=\"not-made\"} %" PRIu64 "\n",
		 n.overflowed, n.refused, n.failed);
	put_metric(out, "alys_push_rejected_profiles_total", "counter",
		   "OTLP profiles refused in requests that the server took otherwise.", n.rejected);
	put_metric(out, "alys_push_failing", "gauge",
		   "Whether the last attempt failed, or succeeded in part; `ctl status` says why.", *n.trouble != 0);
	put_metric(out, "alys_push_waiting", "gauge", "Profiles that wait for the server.", waiting);
	put_metric(out, "alys_push_waiting_bytes", "gauge", "Memory of those.", bytes);
}

void push_text(const struct push *p, struct buf *out)
{
	struct push_counts n;
	size_t waiting, bytes;
	sender_counts(p->sender, &n, &waiting, &bytes);
	buf_addf(out, "%" PRIu64 " sent to %s, %zu waiting (", n.sent, p->backend->name, waiting);
	text_bytes(out, (double)bytes);
	buf_addf(out, "), retried: %" PRIu64 ", dropped: queue full %" PRIu64 ", refused %" PRIu64 ", not made %" PRIu64,
		 n.retries, n.overflowed, n.refused, n.failed);
	if (n.rejected)
		buf_addf(out, "; of those sent, rejected: %" PRIu64, n.rejected);
	if (*n.trouble)
		buf_addf(out, "; at last: %s", n.trouble);
}

void push_close(struct push *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->closed = true;
	pthread_mutex_unlock(&p->lock);
	p->round++;
	forget_gone(p);
	sender_end(p->sender);
	push_put(p);
}
