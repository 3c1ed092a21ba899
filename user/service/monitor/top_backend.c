/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/top_backend: see top_backend.h. */
#include "monitor/top_backend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define EVERY_NS 1000000000ull

struct top_backend {
	struct continuous *recording;
	uint32_t pid;
	uint64_t next_ns;
	bool asked, ended;
	int rc; /* result of the last request */
	struct buf list;
	struct err err;
};

static void on_list(void *ctx, int rc, struct buf *out, const struct err *err)
{
	struct top_backend *s = ctx;
	s->asked = false;
	s->rc = rc;
	if (rc) {
		s->err = *err;
		return;
	}
	buf_free(&s->list);
	s->list = *out;
	*out = (struct buf){ 0 };
}

static int ask(struct top_backend *s, struct proc_id proc, struct err *err)
{
	struct profile_request r = { .format = "feed", .proc = proc, .done = on_list, .ctx = s };
	s->asked = true;
	int rc = continuous_profile(s->recording, &r, err);
	if (rc)
		s->asked = false;
	return rc;
}

/* The heap is dropped after this callback: take a last list. */
static void on_ending(void *ctx, const struct continuous_process *p, enum ending why)
{
	struct top_backend *s = ctx;
	if (p->tgid != s->pid || why == ENDING_EXEC)
		return;
	s->ended = true;
	if (!s->asked)
		ask(s, p->proc, NULL);
}

static int poll_list(void *ctx, struct buf *out, struct err *err)
{
	struct top_backend *s = ctx;
	struct proc_id proc = { 0 };
	uint64_t now = now_ns();
	continuous_work(s->recording, err);
	if (err->code)
		return -err->code;
	if (!s->asked && !s->ended && now >= s->next_ns) {
		s->next_ns = now + EVERY_NS;
		proc = s->pid ? continuous_find(s->recording, s->pid) : proc;
		if (s->pid && !proc.n)
			s->ended = true;
		else if (ask(s, proc, err))
			return -err->code;
	}
	if (s->rc) {
		*err = s->err;
		return s->rc;
	}
	if (s->list.len) {
		buf_free(out);
		*out = s->list;
		s->list = (struct buf){ 0 };
		return 1;
	}
	return s->ended && !s->asked ? -ESRCH : 0;
}

struct top_backend *top_backend_new(const struct continuous_options *o, uint32_t pid, struct err *err)
{
	struct top_backend *s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	struct continuous_ops ops = { .ctx = s, .ending = on_ending };
	s->pid = pid;
	s->recording = continuous_new(o, &ops, err);
	if (s->recording && !continuous_on(s->recording, err) &&
	    (!pid || continuous_find(s->recording, pid).n || !err_set(err, ESRCH, "nothing to watch")))
		return s;
	top_backend_free(s);
	return NULL;
}

struct top_source top_backend_source(struct top_backend *s)
{
	return (struct top_source){ .ctx = s, .poll = poll_list };
}

void top_backend_free(struct top_backend *s)
{
	struct continuous_status now = { 0 };
	if (s->recording) {
		continuous_status(s->recording, &now);
		continuous_off(s->recording);
	}
	/*
	 * Symbolization is in progress and can take long for all programs of a machine. Its result is no longer needed: the
	 * probes are detached, and the process exits next, so leak the rest.
	 */
	if (now.waiting)
		return;
	/* Cancels pending requests, whose callback uses s: before s is freed. */
	continuous_free(s->recording);
	buf_free(&s->list);
	free(s);
}
