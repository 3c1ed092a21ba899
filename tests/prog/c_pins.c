/* libs: -lgc */
/*
 * One object in seventy is kept: a few survivors of site_pin keep heap blocks in use that site_garbage filled. Prints "ready",
 * waits for a line, allocates, collects, prints how many were kept, and waits.
 */
#include <gc.h>
#include <stdio.h>

#define SITE __attribute__((noinline))
#define KEPT 200
#define BETWEEN 70

static void *volatile kept[KEPT];

SITE void *site_pin(void)
{
	void *volatile p = GC_malloc(60);
	return p;
}

SITE void *site_garbage(void)
{
	void *volatile p = GC_malloc(60);
	return p;
}

int main(void)
{
	GC_INIT();
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < KEPT; i++) {
		kept[i] = site_pin();
		for (int k = 0; k < BETWEEN; k++)
			site_garbage();
	}
	GC_gcollect();
	printf("kept %d\n", KEPT);
	fflush(stdout);
	return getchar() == 'x';
}
/* SPDX-License-Identifier: Apache-2.0 */
