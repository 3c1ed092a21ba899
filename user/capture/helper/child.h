/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/child: the child's side of the helper (helper.h), shared by its programs. It is our own executable started
 * again, so that it inherits nothing of a recording. It drops all rights (confine.h), maps the library, and reports
 * through a pipe; the report may be forged by the library.
 */
#ifndef ALYS_HELPER_CHILD_H
#define ALYS_HELPER_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* argv[1], which selects the child's task; there are no other arguments. */
#define CHILD_CALLS "--call-allocator"
#define CHILD_HEAP "--fill-heap"
#define CHILD_MALLOC "--fill-malloc"

/* Its descriptors. */
enum {
	CHILD_FD_LIBRARY = 3,
	CHILD_FD_GO = 4, /* end of file means go on */
	CHILD_FD_OUT = 5,
};

/* The library's path inside the helper, which has no access to its real one. */
#define CHILD_LIBRARY "/library"

/* First byte of the report: the library is loaded and records follow; otherwise a text says why not. */
#define CHILD_READY 'r'
#define CHILD_FAILED 'f'

/* The loaded library, its collector initialized if it has one; NULL: the reason has been reported. */
void *child_library(void);
/* Reports that the library is loaded. False: nobody reads. */
bool child_ready(void);
bool child_fail(const char *why);
/* Blocks until allowed to continue; false if that will not happen. */
bool child_await(void);
bool child_put(const void *bytes, size_t n);

#endif
