/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nearly empty pages of malloc's heap: fifteen blocks of one site and one of another fill each 4,096 bytes, and the fifteen
 * are freed. c_held | fills OLD pages, prints "ready", waits for a byte | fills PAGES more, frees | prints blocks kept by
 * site and the pages that they lie in, with glibc's headers, and their addresses, and waits for the end of its input. A guard before and after keeps others out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noipa)) static
#define TOUCH(p, size) memset(p, 1, size)
#define SIZE 240 /* of 256 with its header */
#define FILLERS 15
#define OLD 50
#define PAGES 300
#define PAGE 4096

static void *fillers[OLD + PAGES + 2][FILLERS], *kept[OLD + PAGES];

SITE void *site_filler(void)
{
	void *p = malloc(SIZE);
	TOUCH(p, SIZE);
	return p;
}

SITE void *site_old(void)
{
	void *p = malloc(SIZE);
	TOUCH(p, SIZE);
	return p;
}

SITE void *site_keeper(void)
{
	void *p = malloc(SIZE);
	TOUCH(p, SIZE);
	return p;
}

SITE void *site_guard(void)
{
	void *p = malloc(2 * PAGE);
	TOUCH(p, 2 * PAGE);
	return p;
}

static void fill(int group)
{
	for (int i = 0; i < FILLERS; i++)
		fillers[group][i] = site_filler();
}

static int pages_of(void *const *blocks, int cnt)
{
	uintptr_t last = 0;
	int pages = 0;
	for (int i = 0; i < cnt; i++) {
		uintptr_t first = (uintptr_t)blocks[i] - 16, end = first + SIZE + 15;
		for (uintptr_t page = first / PAGE; page <= end / PAGE; page++) {
			pages += page > last;
			last = page > last ? page : last;
		}
	}
	return pages;
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	void *guards[] = { site_guard(), NULL };
	for (int i = 0; i < OLD; i++) {
		fill(i);
		kept[i] = site_old();
	}
	fill(OLD + PAGES);
	puts("ready");
	if (getchar() == EOF)
		return 1;
	for (int i = OLD; i < OLD + PAGES; i++) {
		fill(i);
		kept[i] = site_keeper();
	}
	fill(OLD + PAGES + 1);
	guards[1] = site_guard();
	for (int i = 0; i < OLD + PAGES + 2; i++) {
		for (int k = 0; k < FILLERS; k++)
			free(fillers[i][k]);
	}
	printf("{\"older\": %d, \"older_pages\": %d, \"kept\": %d, \"pages\": %d, \"guard\": %zu, \"addresses\": [%zu", OLD,
	       pages_of(kept, OLD), PAGES, pages_of(kept + OLD, PAGES), (uintptr_t)guards[1], (uintptr_t)kept[OLD]);
	for (int i = OLD + 1; i < OLD + PAGES; i++)
		printf(", %zu", (uintptr_t)kept[i]);
	puts("]}");
	int end = getchar();
	free(guards[0]);
	free(guards[1]);
	return end == 'x';
}
