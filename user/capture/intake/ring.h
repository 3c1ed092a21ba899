/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake/ring: the reading end of the ring of records (struct alys_ring in alys.h), in the order in which they were reserved. One reader at a
 * time, in any process: the position is in the ring.
 */
#ifndef ALYS_INTAKE_RING_H
#define ALYS_INTAKE_RING_H

#include <stddef.h>
#include <stdint.h>

struct alys_ring;

struct ring {
	struct alys_ring *at;
	uint64_t size;
	uint64_t read; /* up to here; told to the programs by ring_tell */
};

/* size: of the ring without its head, as the programs know it. 0 or -errno. */
int ring_open(struct ring *r, int map_fd, uint64_t size);
void ring_close(struct ring *r);
/* The next record, until ring_pass; NULL: none, or it is still being written. */
const void *ring_front(const struct ring *r, size_t *size);
void ring_pass(struct ring *r);
/* Gives back the room of what was passed. */
void ring_tell(struct ring *r);
/* Bytes of entries that were not passed. */
uint64_t ring_unread(const struct ring *r);

#endif
