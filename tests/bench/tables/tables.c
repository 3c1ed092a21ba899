/*
 * How fast .eh_frame is compiled to rows: `tables REPETITIONS FILE...`. Prints for each file: its name, bytes of .eh_frame,
 * rows, bytes of the table, and the median time in milliseconds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "elf/elf.h"
#include "unwind/unwind.h"

#define MOST 99

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static int measure(const struct elf *e, const char *name, int repetitions)
{
	double ms[MOST];
	size_t size = 0, rows = 0, taken = 0;
	uint64_t vaddr;
	struct err err = { 0 };
	if (!elf_section(e, ".eh_frame", &size, &vaddr))
		return -1;
	for (int i = 0; i < repetitions; i++) {
		double begin = now_ms();
		struct unwind_table *t = unwind_compile(e, &err);
		ms[i] = now_ms() - begin;
		if (!t)
			return -1;
		rows = t->rows_cnt;
		taken = unwind_size(t);
		unwind_free(t);
	}
	qsort(ms, (size_t)repetitions, sizeof(*ms), by_value);
	printf("%s %zu %zu %zu %.3f\n", name, size, rows, taken, ms[repetitions / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	int repetitions = argc > 2 ? atoi(argv[1]) : 0;
	int failed = 0;
	if (repetitions < 1 || repetitions > MOST)
		return 2;
	for (int i = 2; i < argc; i++) {
		struct err err = { 0 };
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		struct elf *e = fd < 0 ? NULL : elf_open(fd, argv[i], &err);
		failed |= !e || measure(e, argv[i], repetitions);
		elf_close(e);
	}
	return failed;
}
/* SPDX-License-Identifier: Apache-2.0 */
