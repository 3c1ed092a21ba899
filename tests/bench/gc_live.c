/* flags: -O2 */
/* libs: -lgc */
/*
 * Objects that are kept and dropped: `gc_live OBJECTS SIZE`. Prints "ready", waits for a byte, allocates, collects, drops
 * about half, collects again, and prints how many objects and bytes are left. The list that keeps them is not counted.
 */
#include <gc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void **kept;

__attribute__((noipa)) static void *site_object(size_t size)
{
	void *p = GC_malloc(size);
	__asm__ volatile("" ::: "memory");
	return p;
}

int main(int argc, char **argv)
{
	size_t objects = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, size = argc > 2 ? strtoul(argv[2], NULL, 10) : 32;
	size_t left = 0;
	uint64_t seed = 1;
	GC_INIT();
	kept = GC_malloc_uncollectable(objects * sizeof(*kept));
	puts("ready");
	fflush(stdout);
	if (getchar() != 'x')
		return 1;
	for (size_t i = 0; i < objects; i++)
		kept[i] = site_object(size);
	GC_gcollect();
	usleep(300000);
	/* At random: a period of two could coincide with refills of 64 objects. */
	for (size_t i = 0; i < objects; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (seed >> 63)
			kept[i] = NULL;
		left += kept[i] != NULL;
	}
	GC_gcollect();
	usleep(300000);
	printf("%zu %zu\n", left, left * size);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
