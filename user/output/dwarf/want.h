/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/want: a request for separate debug information. The process that parses DWARF may not open files, so it asks;
 * the process that opens files parses none.
 */
#ifndef ALYS_DWARF_WANT_H
#define ALYS_DWARF_WANT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum want_kind {                      /* tried in this order */
		 WANT_BY_ID = 1,      /* by build id, in the system's directory */
		 WANT_BESIDE = 2,     /* by .gnu_debuglink, in the directory of the file */
		 WANT_BESIDE_SUB = 3, /* in its subdirectory .debug */
		 WANT_BESIDE_SYS = 4, /* under the same path below the system's directory */
		 WANT_NETWORK = 5,    /* debuginfod, by build id */
		 WANT_SHARED = 6,     /* the shared file made by dwz, by build id or path */
};

#define WANT_ID_MAX 64

struct want {
	enum want_kind kind;
	uint8_t id[WANT_ID_MAX];
	size_t id_sz;
	char name[PATH_MAX];
};

struct want_source {
	/* A descriptor owned by the caller, or -1. The caller checks whether it matches. */
	int (*open)(void *ctx, const struct want *w);
	void *ctx;
};

#endif
