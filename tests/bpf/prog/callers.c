/* malloc from many depths, from large and small frames, callbacks and functions of glibc. Argument: seconds. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned int sink;

static __attribute__((noinline)) void leaf(size_t n)
{
	void *volatile p = malloc(n);
	free(p);
}

static __attribute__((noinline)) unsigned int deep(int depth)
{
	if (!depth)
		leaf(100);
	else
		sink += deep(depth - 1);
	return depth + sink;
}

static __attribute__((noinline)) int big_frame(int depth)
{
	volatile char frame[40000];
	frame[depth] = (char)depth;
	leaf(200);
	return frame[depth];
}

/* The frame's size is known only at run time, so it needs a frame pointer. */
static __attribute__((noinline)) int dynamic_frame(int n)
{
	volatile char frame[n];
	frame[0] = 1;
	leaf(300);
	return frame[0];
}

typedef double wide __attribute__((vector_size(32)));

/* Realigns its stack, so the CFA is given by an expression. */
static __attribute__((noinline)) int aligned_frame(int n)
{
	volatile wide w = { n, n, n, n };
	leaf(400);
	return (int)w[0];
}

static int compare(const void *a, const void *b)
{
	leaf(500);
	return *(const int *)a - *(const int *)b;
}

static void glibc(void)
{
	char *line = NULL, *text;
	size_t cap = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && getline(&line, &cap, f) > 0)
		;
	if (f)
		fclose(f);
	free(line);
	if (asprintf(&text, "%s %d", "text", sink) > 0)
		free(text);
	free(strdup("a copy"));
	free(realpath("/proc/self/exe", NULL));
	int numbers[] = { 3, 1, 2, 5, 4 };
	qsort(numbers, 5, sizeof(int), compare);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	while (time(NULL) < end) {
		for (int depth = 0; depth < 200; depth += 13)
			sink += deep(depth);
		sink += big_frame(3) + dynamic_frame(100 + (int)(sink % 1000)) + aligned_frame(2);
		glibc();
		usleep(1000);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
