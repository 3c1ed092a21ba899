/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/tape: whole pieces of bytes at the end of a file, or nothing. Keeps some room reserved ahead
 * where the file system can, so that the last words fit on a disk that is full. Never maps the
 * file: a full disk would be SIGBUS there, and is an error code here. Private to the room.
 */
#ifndef ALYS_TRACE_TAPE_H
#define ALYS_TRACE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPE_RESERVE (64 * 1024)

struct tape {
	int fd;
	uint64_t begin; /* of the first piece in the file */
	uint64_t pos;   /* from there on */
	uint64_t reserved_to;
	bool no_reserve; /* a pipe, or a file system without fallocate */
	bool streams;    /* a pipe, or somebody's file in whose middle we are: never cut */
};

/* From where fd is. */
void tape_begin(struct tape *t, int fd);

/* Leaves `keep` bytes of the reserve for later. 0 or -errno; after an error nothing was written. */
int tape_write(struct tape *t, const void *bytes, size_t n, size_t keep);
/* Gives back the reserve and closes. */
int tape_close(struct tape *t);

#endif
