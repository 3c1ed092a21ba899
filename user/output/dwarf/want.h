/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/want: a file that holds more about another one: its separate debug information. Who reads
 * DWARF may open nothing, so it asks; who opens files reads none of them.
 */
#ifndef ALYS_DWARF_WANT_H
#define ALYS_DWARF_WANT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum want_kind {                      /* tried in this order */
		 WANT_BY_ID = 1,      /* the debug file of a build id, in the system's place */
		 WANT_BESIDE = 2,     /* by .gnu_debuglink: in the directory of the file */
		 WANT_BESIDE_SUB = 3, /* in its subdirectory .debug */
		 WANT_BESIDE_SYS = 4, /* under the same path in the system's place */
		 WANT_NETWORK = 5,    /* debuginfod, by build id */
		 WANT_SHARED = 6,     /* what dwz moved out of several debug files, by build id or path */
};

#define WANT_ID_MAX 64

struct want {
	enum want_kind kind;
	uint8_t id[WANT_ID_MAX];
	size_t id_sz;
	char name[PATH_MAX];
};

struct want_source {
	/* An open descriptor, now the caller's, or -1. Whether it fits is for the caller to find out. */
	int (*open)(void *ctx, const struct want *w);
	void *ctx;
};

#endif
