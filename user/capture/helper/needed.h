/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper/needed: opens all libraries on which a library depends, by name in the system's directories, wherever else the
 * library would look for them. For the helper (child.h).
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

/* Libraries that are not found are left out. */
void needed_open(struct needed *n, int library);
/* By file name; -1: none of them. */
int needed_find(const struct needed *n, const char *path);

#endif
