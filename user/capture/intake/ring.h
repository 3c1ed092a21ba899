/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake/ring: the reading end of the ring of records (struct alys_ring in alys.h), in the order in which they were reserved. There is one
 * reader at a time, in whichever process: who opens the ring continues where the last one was, as of its ring_tell.
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
/*
 * The next record, until ring_pass; NULL: none, or it is still being written. No longer than ALYS_RECORD_MAX, whatever the ring says: processes
 * that were forked may have it in their memory.
 */
const void *ring_front(const struct ring *r, size_t *size);
/* Its room is given back with that of others, or by ring_tell. */
void ring_pass(struct ring *r);
void ring_tell(struct ring *r);
/* Drops everything, also what a reader left that ended in the middle. Nobody may be writing. */
void ring_reset(struct ring *r);
/* Processes that are forked from now on do not have it in their memory. 0 or -errno. */
int ring_keep(const struct ring *r);
/* Bytes of entries that were not passed. */
uint64_t ring_unread(const struct ring *r);

#endif
