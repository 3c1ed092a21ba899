/* Loaded by c_maps at run time: allocates in a callback from glibc's qsort, which has no frame pointers either. */
#include <stdlib.h>

#ifndef SITE_NAME
#define SITE_NAME site_deep
#define ROOM 24
#endif

void *SITE_NAME(size_t n);

static void *made;
static size_t wanted;

__attribute__((noipa)) static int compare(const void *a, const void *b)
{
	volatile char room[ROOM];

	room[0] = *(const char *)a;
	if (!made)
		made = malloc(wanted);
	return room[0] - *(const char *)b;
}

__attribute__((noipa)) void *SITE_NAME(size_t n)
{
	volatile char room[2 * ROOM] = { 1 };
	char two[2] = { (char)n, 0 };

	made = NULL;
	wanted = n;
	qsort(two, 2, 1, compare);
	return room[0] ? made : NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
