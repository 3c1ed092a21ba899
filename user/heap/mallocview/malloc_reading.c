/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_reading: see malloc_reading.h. */
#include "mallocview/malloc_reading.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "glibc/malloc_proof.h"
#include "heapview/objects.h"

#define FREEZES 200        /* of which most last no longer than it takes to see that a thread is in malloc */
#define PAUSE_NS 1000000ll /* in which it comes out of there */

static int damaged(bool freeze, struct err *err)
{
	return err_wrap(err,
			freeze ? "its heap is damaged" : "its heap is damaged, or changes faster than it is read (--freeze)");
}

static int settle_and_look(struct malloc_reading *r, malloc_look_fn look, void *ctx, const struct threads *t, struct err *err)
{
	glibc_heap_settle(&r->heap, &r->process.layout);
	return look(ctx, r, t, err);
}

/* -EAGAIN: a thread was in malloc. */
static int read_once(struct malloc_reading *r, bool freeze, malloc_look_fn look, void *ctx, struct err *err)
{
	struct threads t = { 0 };
	uint32_t tgid = r->process.memory.tgid;
	int rc = freeze ? threads_freeze(&t, tgid, err) : look ? threads_look(&t, tgid, err) : 0;
	uint64_t began = now_ns();
	rc = rc ?: glibc_read(&r->process, &r->heap, freeze, err);
	if (!rc && look)
		rc = settle_and_look(r, look, ctx, &t, err);
	r->took_ns = now_ns() - began;
	r->frozen_ns = threads_thaw(&t);
	threads_free(&t);
	if (!rc && freeze && !r->frozen_ns) /* it was resumed before the end */
		rc = objects_unread(tgid, -ETIMEDOUT, err);
	if (!rc && !look)
		glibc_heap_settle(&r->heap, &r->process.layout);
	r->readings += rc != -EAGAIN;
	return rc;
}

static int take(struct malloc_reading *r, const struct malloc_how *how, malloc_look_fn look, void *ctx, struct err *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	for (int freezes = 0;; freezes++) {
		int rc = read_once(r, how->freeze, look, ctx, err);
		bool again = rc == -EAGAIN || rc == -EILSEQ || (!rc && r->heap.odd);
		if (!again)
			return rc;
		if (r->readings >= (rc ? MALLOC_READINGS : how->most) || freezes == FREEZES)
			return rc == -EILSEQ ? damaged(how->freeze, err) : rc;
		glibc_heap_free(&r->heap);
		nanosleep(&pause, NULL);
	}
}

int malloc_reading_take(struct malloc_reading *r, const struct malloc_how *how, malloc_look_fn look, void *ctx, struct err *err)
{
	*r = (struct malloc_reading){ 0 };
	int rc = glibc_find(&r->process, how->tgid, err);
	if (rc)
		return rc;
	rc = glibc_prove(&r->process, err);
	rc = rc ?: take(r, how, look, ctx, err);
	if (rc)
		malloc_reading_free(r);
	else
		*err = (struct err){ 0 }; /* of readings that came to nothing */
	return rc;
}

void malloc_reading_free(struct malloc_reading *r)
{
	glibc_heap_free(&r->heap);
	glibc_close(&r->process);
}
