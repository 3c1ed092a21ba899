// SPDX-License-Identifier: Apache-2.0
/*
 * Takes blocks that the C library maps one by one, each at the address of a page, writes to three pages of each, and frees some.
 * Prints how many blocks, pages that became resident and pages that were mapped there were, and how many are left. Then waits
 * until stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE 4096ul
#define BLOCKS 100
#define FREED 40
#define TOUCHED 3
#define BLOCK_SZ (1ul << 20)

static char *blocks[BLOCKS];

__attribute__((noinline)) void take_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = aligned_alloc(PAGE, BLOCK_SZ);
		for (size_t at = 0; at < TOUCHED; at++)
			((volatile char *)blocks[i])[at * PAGE] = 1;
	}
}

__attribute__((noinline)) void drop_blocks(void)
{
	for (int i = 0; i < FREED; i++)
		free(blocks[i]);
}

static long mapped_pages(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%ld", &pages) != 1)
		abort();
	fclose(f);
	return pages;
}

int main(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	long before = mapped_pages();
	puts("ready");
	fflush(stdout);
	getchar();
	take_blocks();
	/* Of each block: the stack may have grown, too. */
	long pages = (mapped_pages() - before) / BLOCKS;
	drop_blocks();
	/* The page before the block, with malloc's own words, was written to, too. */
	printf("allocations %d %d\nrss %d %d\nmaps %ld %ld\ndone\n", BLOCKS, BLOCKS - FREED, BLOCKS * (TOUCHED + 1),
	       (BLOCKS - FREED) * (TOUCHED + 1), pages * BLOCKS, pages * (BLOCKS - FREED));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
