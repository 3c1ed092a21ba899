/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mallocview/malloc_blocks: every block in use of a process' malloc heap, by class. It is read in a process of its own,
 * without rights, while the caller goes on; what comes back is checked, because that process has parsed the target's memory.
 */
#ifndef ALYS_MALLOCVIEW_MALLOC_BLOCKS_H
#define ALYS_MALLOCVIEW_MALLOC_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "mallocview/malloc_reading.h"

struct malloc_block {
	uint64_t addr;  /* what malloc returned */
	uint64_t bytes; /* as malloc_usable_size has them */
	uint64_t class; /* index in classes */
};

struct malloc_blocks {
	pid_t pid; /* of the reading process; 0: it has ended */
	int fd;
	/* When it has been read: */
	const struct malloc_block *all;
	size_t all_cnt;
	const char **classes; /* "Shape", "(24 bytes)" */
	size_t classes_cnt;
	uint64_t read_ns;   /* CLOCK_MONOTONIC, when reading was over */
	uint64_t odd;       /* things that do not fit together */
	uint64_t frozen_ns; /* how long the process was stopped */
	/* Its own: */
	void *map;
	size_t map_sz;
};

/* 0 or -errno. Then malloc_blocks_free. */
int malloc_blocks_begin(struct malloc_blocks *b, const struct malloc_how *of, struct err *err);
/* 1: it is read; 0: not yet; -errno: it cannot be, and the reading process has told why. */
int malloc_blocks_poll(struct malloc_blocks *b);
void malloc_blocks_free(struct malloc_blocks *b);

#endif
