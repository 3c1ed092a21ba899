/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/calls: the child (child.h) that calibrate.h uses. On a signal through the pipe it calls the library's
 * allocator with known sizes, and reports calls and results through another pipe.
 */
#ifndef ALYS_HELPER_CALLS_H
#define ALYS_HELPER_CALLS_H

#include <stdint.h>

enum called {
	CALLED_MALLOC,
	CALLED_ATOMIC,
	CALLED_UNCOLLECTABLE,
	CALLED_OFF_PAGE,
	CALLED_MEMALIGN,
	CALLED_REALLOC,
	CALLED_FREE,
	CALLED_CNT
};

#define CALLS_MAX 16384

/* One call; `old` is the pointer passed in. */
struct call {
	uint32_t called; /* enum called */
	uint32_t pad;
	uint64_t size, old, result;
};

/* The function's name in a collector or in a plain allocator; NULL = no such function. */
const char *called_name(enum called called, int collector);
/* The child's main; returns its exit status. */
int calls_main(void);

#endif
