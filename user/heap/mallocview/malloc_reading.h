/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_reading: one reading of a malloc heap that fits together, or the best of a few. */
#ifndef ALYS_MALLOCVIEW_MALLOC_READING_H
#define ALYS_MALLOCVIEW_MALLOC_READING_H

#include <stdbool.h>

#include "glibc/glibc_heap.h"
#include "glibc/process.h"
#include "heapview/threads.h"

struct malloc_reading {
	struct glibc_process process;
	struct glibc_heap heap;
	uint64_t took_ns, frozen_ns; /* of the reading that counts */
	uint32_t readings;
};

/* Called while the reading is fresh, and the process still stopped if it is; 0 or -errno. */
typedef int (*malloc_look_fn)(void *ctx, struct malloc_reading *r, const struct threads *t, struct err *err);

#define MALLOC_READINGS 6

struct malloc_how {
	uint32_t tgid;
	uint32_t most; /* readings until one fits together, up to MALLOC_READINGS; then the last one that led to its end */
	bool freeze;   /* stop the process while its heap is copied */
};

/* look NULL: nothing more is wanted. 0, then malloc_reading_free; or -errno with one sentence. Nothing stays stopped. */
int malloc_reading_take(struct malloc_reading *r, const struct malloc_how *how, malloc_look_fn look, void *ctx, struct err *err);
void malloc_reading_free(struct malloc_reading *r);

#endif
