/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake/queue: records from the ring, in its order, until they are handled.
 *
 * The ring is small (see probe_ring_part). When its reader is late, a thread moves the records into memory of our own.
 */
#ifndef ALYS_INTAKE_QUEUE_H
#define ALYS_INTAKE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct queue;

/* Descriptors of maps, which stay the caller's. */
struct queue_source {
	int ring_fd, calls_fd;
	uint64_t ring_sz; /* see ring_open */
};

/* room: bytes of records that may wait outside the ring; 0 = none do, and there is no thread. */
struct queue *queue_new(const struct queue_source *from, uint64_t room, struct err *err);
void queue_free(struct queue *q);
/* Readable when the programs have called the reader. */
int queue_epoll_fd(const struct queue *q);
/* The next record, until the next call; NULL = all have been read. */
const void *queue_next(struct queue *q, size_t *size);
/* Drops what nobody has read. Before the first queue_next, and when nobody is writing. */
void queue_reset(struct queue *q);
/* Bytes not yet read. */
uint64_t queue_backlog(struct queue *q);
/* The reader may wait: few records are unread, and more have room outside the ring. */
bool queue_has_time(struct queue *q);

#endif
