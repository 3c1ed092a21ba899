/* SPDX-License-Identifier: Apache-2.0 */
/* push/sender: see sender.h. Sends the oldest profile first and retries it until the server accepts or rejects it. */
#include "push/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "push/credentials.h"
#include "push/transfer.h"

#define QUEUE_STANDARD (32u << 20)
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000
#define SHUTDOWN_MS 1000
/* Failures that are told apart. One is logged again if it has not occurred for so long. */
#define TOLD_MAX 8
#define TOLD_MS 600000

struct sender {
	size_t queue_max;
	struct transfer *transfer;
	const struct push_credentials *credentials;
	struct response answer;
	struct told {
		long cause; /* 0 = unused */
		uint64_t seen_ms;
	} told[TOLD_MAX];
	pthread_t thread;

	pthread_mutex_t lock; /* for the fields below */
	pthread_cond_t changed;
	struct payload *oldest, *newest;
	size_t waiting, bytes; /* including the one being sent */
	struct push_counts counts;
	bool ending;
	uint64_t until_ms; /* deadline if ending */
};

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

/* --- the queue --------------------------------------------------------------------------------- */

/* The lock is held. */
static struct payload *take_oldest(struct sender *s)
{
	struct payload *p = s->oldest;
	if (!p)
		return NULL;
	s->oldest = p->next;
	if (!s->oldest)
		s->newest = NULL;
	return p;
}

static void forget(struct sender *s, struct payload *p)
{
	s->waiting--;
	s->bytes -= p->body.len;
	payload_free(p);
}

static void drop_surplus(struct sender *s)
{
	while (s->bytes > s->queue_max && s->oldest) {
		forget(s, take_oldest(s));
		s->counts.overflowed++;
	}
}

void sender_offer(struct sender *s, struct payload *p)
{
	pthread_mutex_lock(&s->lock);
	p->next = NULL;
	if (s->newest)
		s->newest->next = p;
	else
		s->oldest = p;
	s->newest = p;
	s->waiting++;
	s->bytes += p->body.len;
	drop_surplus(s);
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void sender_note_failed(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->counts.failed++;
	pthread_mutex_unlock(&s->lock);
}

void sender_counts(struct sender *s, struct push_counts *out, size_t *waiting, size_t *bytes)
{
	pthread_mutex_lock(&s->lock);
	*out = s->counts;
	*waiting = s->waiting;
	*bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
}

/* --- one POST ---------------------------------------------------------------------------------- */

/* Aborts the transfer once the deadline has passed. */
static bool is_over(void *ctx)
{
	struct sender *s = ctx;
	pthread_mutex_lock(&s->lock);
	bool over = s->ending && now_ms() > s->until_ms;
	pthread_mutex_unlock(&s->lock);
	return over;
}

/*
 * By time, not by success: a server may take the profiles of one process and refuse those of another, for ever. The place
 * of the failure that is longest ago is used for a new one.
 */
static bool is_news(struct sender *s, long cause)
{
	struct told *place = s->told;
	uint64_t now = now_ms();
	for (struct told *t = s->told; t < s->told + TOLD_MAX; t++) {
		if (t->cause == cause) {
			place = t;
			break;
		}
		if (t->seen_ms < place->seen_ms)
			place = t;
	}
	bool known = place->cause == cause && now - place->seen_ms < TOLD_MS;
	*place = (struct told){ cause, now };
	return !known;
}

/* At a whole UTF-8 character. */
static void shorten(struct buf *text, size_t most)
{
	if (text->len <= most)
		return;
	text->len = most;
	while (text->len && (text->data[text->len] & 0xc0) == 0x80)
		text->len--;
}

/* What is wrong, without secrets and control characters. */
static void describe(const struct sender *s, const struct response *a, enum outcome how, struct buf *out)
{
	struct buf text = { 0 }, open = { 0 };
	response_text(a, transfer_backend(s->transfer), how, &text);
	push_credentials_redact(s->credentials, buf_str(&text), &open);
	text_clean(out, buf_str(&open), SIZE_MAX);
	shorten(out, SENDER_TEXT_MAX);
	buf_free(&text);
	buf_free(&open);
}

/* Logs each cause once while it lasts. */
static void tell(struct sender *s, const struct response *a, enum outcome how)
{
	struct buf clean = { 0 };
	long cause = response_cause(a, how);
	if (how == AGAIN && is_over(s)) /* aborted by ourselves */
		return;
	if (cause)
		describe(s, a, how, &clean);
	pthread_mutex_lock(&s->lock);
	snprintf(s->counts.trouble, sizeof(s->counts.trouble), "%s", buf_str(&clean));
	pthread_mutex_unlock(&s->lock);
	if (cause && is_news(s, cause))
		log_warn("--push: %s", buf_str(&clean));
	buf_free(&clean);
}

static enum outcome post(struct sender *s, const struct payload *p, uint64_t *pause_ms, uint64_t *rejected)
{
	struct response *a = &s->answer;
	enum outcome how = transfer_post(s->transfer, &p->body, a);
	tell(s, a, how);
	*rejected = how == SENT ? a->rejected : 0;
	if (how == AGAIN && a->wait_ms > *pause_ms)
		*pause_ms = a->wait_ms;
	return how;
}

/* --- the thread -------------------------------------------------------------------------------- */

/*
 * The lock is held. Sleeps for ms, or at most 100 ms when ending: some pause, so as not to flood a server that fails
 * immediately until the deadline.
 */
static void pause_for(struct sender *s, uint64_t ms)
{
	struct timespec until;
	uint64_t end = now_ms() + ms;
	for (uint64_t now; (now = now_ms()) < end;) {
		if (s->ending && end > now + 100)
			end = now + 100;
		until = (struct timespec){ .tv_sec = (time_t)(end / 1000), .tv_nsec = (long)(end % 1000) * 1000000 };
		pthread_cond_timedwait(&s->changed, &s->lock, &until);
	}
}

/* The lock is held, but released while sending. A profile to be retried goes back to the head of the queue. */
static void deliver(struct sender *s, struct payload *p, uint64_t *back_off)
{
	/* 25 % jitter, so that many daemons do not retry at the same time. */
	uint64_t rejected, pause = *back_off * 3 / 4 + (uint64_t)random() % (*back_off / 2);
	pthread_mutex_unlock(&s->lock);
	enum outcome how = post(s, p, &pause, &rejected);
	pthread_mutex_lock(&s->lock);
	if (how != AGAIN) {
		s->counts.rejected += rejected;
		s->counts.sent += how == SENT;
		s->counts.refused += how == REFUSED;
		forget(s, p);
		*back_off = PAUSE_MIN_MS;
		return;
	}
	p->next = s->oldest;
	s->oldest = p;
	if (!s->newest)
		s->newest = p;
	s->counts.retries++;
	drop_surplus(s);
	pause_for(s, pause);
	*back_off = *back_off * 2 < PAUSE_MAX_MS ? *back_off * 2 : PAUSE_MAX_MS;
}

static bool time_is_over(struct sender *s)
{
	return s->ending && (!s->oldest || now_ms() > s->until_ms);
}

static void *run(void *arg)
{
	struct sender *s = arg;
	uint64_t back_off = PAUSE_MIN_MS;
	pthread_mutex_lock(&s->lock);
	while (!time_is_over(s)) {
		struct payload *p = take_oldest(s);
		if (p)
			deliver(s, p, &back_off);
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void sender_free(struct sender *s)
{
	struct payload *p;
	while ((p = take_oldest(s)))
		payload_free(p);
	transfer_free(s->transfer);
	response_free(&s->answer);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int start(struct sender *s, struct err *err)
{
	int rc = signals_thread(&s->thread, run, s);
	return rc ? err_set(err, rc, "no thread for --push: %s", strerror(rc)) : 0;
}

struct sender *sender_new(const struct push_options *o, struct err *err)
{
	pthread_condattr_t monotonic;
	struct sender *s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	s->credentials = o->credentials;
	s->queue_max = o->queue_max ? o->queue_max : QUEUE_STANDARD;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->transfer = transfer_new(o, is_over, s, err);
	if (!s->transfer || start(s, err)) {
		sender_free(s);
		return NULL;
	}
	return s;
}

const struct push_backend *sender_backend(const struct sender *s)
{
	return transfer_backend(s->transfer);
}

void sender_end(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	s->until_ms = now_ms() + SHUTDOWN_MS;
	/* Slightly later than the thread's own deadline. */
	uint64_t until_ms = s->until_ms + 10;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };
	if (pthread_clockjoin_np(s->thread, NULL, CLOCK_MONOTONIC, &until)) {
		transfer_cut(s->transfer);
		pthread_join(s->thread, NULL);
	}
	sender_free(s);
}
