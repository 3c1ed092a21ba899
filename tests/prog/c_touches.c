// SPDX-License-Identifier: Apache-2.0
/* Makes pages resident for a while, three of four in one function, and gives them back; prints how many each function touched. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 2000ul
#define ROUNDS 1000ul

static void touch(volatile char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		at[i * PAGE] = 1;
}

__attribute__((noinline)) void touch_most(char *at)
{
	touch(at, PAGES * 3 / 4);
	__asm__ volatile("");
}

__attribute__((noinline)) void touch_rest(char *at)
{
	touch(at, PAGES / 4);
	__asm__ volatile("");
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
	for (size_t i = 0; i < ROUNDS; i++) {
		char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			abort();
		madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
		touch_most(at);
		touch_rest(at + PAGES * 3 / 4 * PAGE);
		munmap(at, PAGES * PAGE);
	}
	printf("touch_most %lu\ntouch_rest %lu\ndone\n", ROUNDS * PAGES * 3 / 4, ROUNDS * PAGES / 4);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
