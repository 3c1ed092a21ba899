/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/calls: the child (child.h) of calibrate.h. On a sign it calls the library's allocator with
 * known sizes; what was called and what came back goes through the pipe.
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

/* One call; `old` is what went in. */
struct call {
	uint32_t called; /* enum called */
	uint32_t pad;
	uint64_t size, old, result;
};

/* The function's name in a collector or in a plain allocator; NULL = has none. */
const char *called_name(enum called called, int collector);
/* The child's main; gives its exit status. */
int calls_main(void);

#endif
