/* SPDX-License-Identifier: Apache-2.0 */
/* intake/wakeup: see wakeup.h. */
#include "intake/wakeup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

struct wakeup {
	struct ring_buffer *ring;
	void (*fn)(void *ctx, const void *record, size_t size);
	void *ctx;
};

static int on_record(void *ctx, void *data, size_t size)
{
	struct wakeup *b = ctx;
	b->fn(b->ctx, data, size);
	return 0;
}

struct wakeup *wakeup_new(int ring_map_fd, void (*fn)(void *ctx, const void *record, size_t size), void *ctx, struct err *err)
{
	struct wakeup *b = calloc(1, sizeof(*b));
	if (b) {
		b->fn = fn;
		b->ctx = ctx;
		b->ring = ring_buffer__new(ring_map_fd, on_record, b, NULL);
	}
	if (b && b->ring)
		return b;
	err_set(err, errno ?: ENOMEM, "cannot open a wake-up ring: %s", strerror(errno ?: ENOMEM));
	free(b);
	return NULL;
}

void wakeup_free(struct wakeup *b)
{
	if (!b)
		return;
	ring_buffer__free(b->ring);
	free(b);
}

int wakeup_fd(const struct wakeup *b)
{
	return ring_buffer__epoll_fd(b->ring);
}

void wakeup_drain(struct wakeup *b)
{
	ring_buffer__consume(b->ring);
}
