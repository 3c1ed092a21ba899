/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/tape: appends to a file, all of a piece or nothing. Reserves space ahead where the file system can, so that the
 * last data fits when the disk is full. Never maps the file: a full disk would be a SIGBUS there. Private to this
 * module.
 */
#ifndef ALYS_TRACE_TAPE_H
#define ALYS_TRACE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPE_RESERVE (64 * 1024)

struct tape {
	int fd;
	uint64_t begin; /* offset of the first piece in the file */
	uint64_t pos;   /* relative to it */
	uint64_t reserved_to;
	bool no_reserve; /* a pipe, or a file system without fallocate */
	bool streams;    /* a pipe, or in the middle of an existing file: never truncated */
};

/* At the current position of fd. */
void tape_begin(struct tape *t, int fd);

/* Keeps `keep` bytes of the reserve for later. 0 or -errno; after an error nothing was written. */
int tape_write(struct tape *t, const void *bytes, size_t n, size_t keep);
/* Releases the reserve and closes. */
int tape_close(struct tape *t);

#endif
