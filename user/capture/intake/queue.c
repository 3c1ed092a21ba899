/* SPDX-License-Identifier: Apache-2.0 */
/* intake/queue: see queue.h. */
#include "intake/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "alys.h"
#include "base/log.h"
#include "base/signals.h"
#include "intake/ring.h"
#include "sandbox/priority.h"

/* What the reader takes at once: less than its processor's cache. */
#define CHUNK_SZ (128u << 10)
/* Half of what is unread when the programs call: few records are left to the reader. */
#define MOVE_LEAVES (512u << 10)
#define HEARD_MAX 1024   /* calls that the mover leaves to the reader: a quarter of those for which there is room */
#define MOVER_NICE (-20) /* it has little to do, but the ring is small */
/* Entries of chunks are as those of the ring. */
#define ENTRY_MAX ALYS_RING_ENTRY(ALYS_RECORD_MAX)

struct chunk {
	struct chunk *next;
	size_t used;
	unsigned char bytes[CHUNK_SZ];
};

struct queue {
	struct ring ring;
	struct ring_buffer *called; /* by the programs */
	pthread_mutex_t lock;       /* the ring's reading end, and all below up to `room` */
	struct chunk *first, *last; /* that wait */
	struct chunk *spare;        /* so that the reader always has one */
	uint64_t waiting;           /* bytes in those that wait */
	uint64_t room;
	unsigned heard;        /* calls that were not answered, by the mover's count */
	struct chunk *reading; /* the reader's own */
	size_t at;             /* of the next record in it */
	bool begun;
	pthread_t mover;
	bool moves;
	int calls, end; /* epoll of the mover; eventfd that ends it */
	int calls_fd;   /* of the map of calls; not ours */
};

static bool is_full(const struct chunk *c)
{
	return CHUNK_SZ - c->used < ENTRY_MAX;
}

/* There is a chunk to which a record can be added; false without memory. */
static bool make_room(struct queue *q)
{
	if (q->last && !is_full(q->last))
		return true;
	struct chunk *c = q->spare ?: malloc(sizeof(*c));
	q->spare = NULL;
	if (!c)
		return false;
	c->next = NULL;
	c->used = 0;
	if (q->last)
		q->last->next = c;
	else
		q->first = c;
	q->last = c;
	return true;
}

static void append(struct queue *q, const void *data, size_t size)
{
	unsigned char *at = q->last->bytes + q->last->used;
	uint64_t n = size, taken = ALYS_RING_ENTRY(n);
	memcpy(at, &n, sizeof(n));
	memcpy(at + sizeof(n), data, n);
	q->last->used += taken;
	q->waiting += taken;
}

/* Takes what is in the ring, until about so many bytes wait. Call with the lock held. */
static void take(struct queue *q, uint64_t limit)
{
	const void *record;
	size_t size;
	while (q->waiting < limit && make_room(q) && (record = ring_front(&q->ring, &size))) {
		append(q, record, size);
		ring_pass(&q->ring);
	}
	ring_tell(&q->ring);
}

static int on_call(void *ctx, void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return 0;
}

/* Until then the descriptor is readable. Call with the lock held. */
static void answer_calls(struct queue *q)
{
	ring_buffer__consume(q->called);
	q->heard = 0;
}

/* The reader is left to answer calls, unless it is late: there must be room for further ones. */
static void move_some(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	if (q->first || ++q->heard > HEARD_MAX)
		answer_calls(q);
	uint64_t unread = ring_unread(&q->ring), limit = q->waiting + unread - MOVE_LEAVES;
	if (unread > MOVE_LEAVES)
		take(q, limit < q->room ? limit : q->room);
	pthread_mutex_unlock(&q->lock);
}

/* The programs call when a quarter of the ring is unread, again and again until it is less. */
static void *move(void *arg)
{
	struct queue *q = arg;
	struct epoll_event e = { .data.fd = -1 };
	priority_raise(MOVER_NICE);
	while (e.data.fd != q->end) {
		if (epoll_wait(q->calls, &e, 1, -1) > 0)
			move_some(q);
	}
	return NULL;
}

/* Told once for each call of the programs (edge-triggered), not for as long as one was not answered. */
static int start_mover(struct queue *q)
{
	struct epoll_event call = { .events = EPOLLIN | EPOLLET, .data.fd = q->calls_fd };
	q->calls = epoll_create1(EPOLL_CLOEXEC);
	q->end = eventfd(0, EFD_CLOEXEC);
	struct epoll_event end = { .events = EPOLLIN, .data.fd = q->end };
	if (q->calls < 0 || q->end < 0 || epoll_ctl(q->calls, EPOLL_CTL_ADD, q->calls_fd, &call) ||
	    epoll_ctl(q->calls, EPOLL_CTL_ADD, q->end, &end))
		return errno;
	int rc = signals_thread(&q->mover, move, q);
	q->moves = !rc;
	return rc;
}

static int open_ring(struct queue *q, const struct queue_source *from)
{
	int rc = ring_open(&q->ring, from->ring_fd, from->ring_sz);
	if (rc)
		return -rc;
	q->calls_fd = from->calls_fd;
	q->called = ring_buffer__new(from->calls_fd, on_call, q, NULL);
	if (!q->called)
		return errno;
	q->spare = malloc(sizeof(*q->spare));
	return q->spare ? 0 : ENOMEM;
}

struct queue *queue_new(const struct queue_source *from, uint64_t room, struct err *err)
{
	struct queue *q = calloc(1, sizeof(*q));
	if (!q) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	q->room = room;
	q->calls = q->end = -1;
	pthread_mutex_init(&q->lock, NULL);
	int rc = open_ring(q, from);
	if (!rc)
		return q;
	err_set(err, rc, "cannot read the ring of records: %s", strerror(rc));
	queue_free(q);
	return NULL;
}

static void end_mover(struct queue *q)
{
	uint64_t one = 1;
	if (q->moves && write(q->end, &one, sizeof(one)) == sizeof(one))
		pthread_join(q->mover, NULL);
	if (q->calls >= 0)
		close(q->calls);
	if (q->end >= 0)
		close(q->end);
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	end_mover(q);
	for (struct chunk *c = q->first, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(q->reading);
	free(q->spare);
	ring_buffer__free(q->called);
	ring_close(&q->ring);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

int queue_epoll_fd(const struct queue *q)
{
	return ring_buffer__epoll_fd(q->called);
}

/* Call with the lock held. */
static struct chunk *pop(struct queue *q)
{
	struct chunk *c = q->first;
	q->first = c->next;
	if (!q->first)
		q->last = NULL;
	q->waiting -= c->used;
	return c;
}

static void give_back(struct queue *q, struct chunk *c)
{
	if (q->spare)
		free(c);
	else
		q->spare = c;
}

static void next_chunk(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	give_back(q, q->reading);
	if (!q->first || !q->first->used)
		take(q, CHUNK_SZ - ENTRY_MAX); /* no second one is begun */
	/* Behind one that is still being written there may be a record whose sender has called. */
	if (!ring_unread(&q->ring)) {
		answer_calls(q);
		take(q, CHUNK_SZ - ENTRY_MAX);
	}
	q->reading = pop(q);
	q->at = 0;
	pthread_mutex_unlock(&q->lock);
}

/* Not before something is read: a process that opens probes may leave the reading to its child. */
static void begin(struct queue *q)
{
	int rc = ring_keep(&q->ring);
	if (rc)
		log_info("the ring of records is inherited by helpers: %s", strerror(-rc));
	rc = q->room ? start_mover(q) : 0;
	if (rc)
		log_info("records wait in the ring only: %s", strerror(rc));
	q->begun = true;
}

const void *queue_next(struct queue *q, size_t *size)
{
	uint64_t n;
	if (!q->begun)
		begin(q);
	if (!q->reading || q->at == q->reading->used)
		next_chunk(q);
	if (q->at == q->reading->used)
		return NULL;
	const unsigned char *at = q->reading->bytes + q->at;
	memcpy(&n, at, sizeof(n));
	q->at += ALYS_RING_ENTRY(n);
	*size = n;
	return at + sizeof(n);
}

uint64_t queue_backlog(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	uint64_t n = q->waiting + ring_unread(&q->ring);
	pthread_mutex_unlock(&q->lock);
	return n + (q->reading ? q->reading->used - q->at : 0);
}

void queue_reset(struct queue *q)
{
	ring_reset(&q->ring);
	answer_calls(q);
}

bool queue_has_time(struct queue *q)
{
	return q->room && queue_backlog(q) < MOVE_LEAVES;
}
