/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/needed: the libraries that a library needs, and those that these need, opened: each found by its name in the
 * directories of the system, wherever the library itself would have it looked for. For the helper (child.h).
 */
#ifndef ALYS_HELPER_NEEDED_H
#define ALYS_HELPER_NEEDED_H

#include <stddef.h>

#define NEEDED_MAX 32

struct needed {
	struct {
		char name[64];
		int fd;
	} at[NEEDED_MAX];
	size_t cnt;
};

/* Those that are not found are left out. */
void needed_open(struct needed *n, int library);
/* By the last part of a path; -1: not one of them. */
int needed_find(const struct needed *n, const char *path);

#endif
