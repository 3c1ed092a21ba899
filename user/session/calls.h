/*
 * session/calls: the helper process of calibrate.h. It maps one library, gives up all rights, and on a
 * sign calls the library's allocator with known sizes; what was called and what came back goes through
 * a pipe. Started again from our own executable, so that it holds nothing of a recording.
 */
#ifndef ALYS_SESSION_CALLS_H
#define ALYS_SESSION_CALLS_H

#include <stdint.h>

/* The first word of its command line; it has no second one. */
#define CALLS_WORD "--call-allocator"

/* Its descriptors. */
enum {
	CALLS_FD_LIBRARY = 3,
	CALLS_FD_GO = 4, /* its end is the sign: the probes are there */
	CALLS_FD_OUT = 5,
};

/* First byte that it says: the library is there, and records follow; or only words why it is not. */
#define CALLS_READY 'r'
#define CALLS_FAILED 'f'

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
/* The helper's main; gives its exit status. */
int calls_main(void);

#endif
