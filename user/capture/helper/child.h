/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/child: the side of the helper (helper.h) within: what its programs have in common. It is our
 * own executable started again, so that it holds nothing of a recording. Maps the library, gives up all
 * rights before (confine.h), and says through a pipe what came of it: which may be the library's words.
 */
#ifndef ALYS_HELPER_CHILD_H
#define ALYS_HELPER_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* The first word of its command line, which tells what it is for; it has no second one. */
#define CHILD_CALLS "--call-allocator"
#define CHILD_HEAP "--fill-heap"

/* Its descriptors. */
enum {
	CHILD_FD_LIBRARY = 3,
	CHILD_FD_GO = 4, /* its end is the sign to go on */
	CHILD_FD_OUT = 5,
};

/* How the library is called in the helper, where it has no path. */
#define CHILD_LIBRARY "/library"

/* First byte that it says: the library is there, and records follow; or only words why it is not. */
#define CHILD_READY 'r'
#define CHILD_FAILED 'f'

/* The library, its collector started if it has one; NULL: why not has been said, and nothing is left to do. */
void *child_library(void);
/* "It is there." False: nobody listens. */
bool child_ready(void);
bool child_fail(const char *why);
/* Blocks until the sign; false when there will be none. */
bool child_await(void);
bool child_put(const void *bytes, size_t n);

#endif
