/* flags: -O2 */
/*
 * malloc + free from 72 * 72 places, 16 frames deep, with an inlined call in each: `stacks EVENTS`. Prints how
 * many. Waits for a byte on stdin first, so that a tracer can attach.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Two macros, as a macro is not expanded recursively. */
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) \
	EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7) EIGHT(X, 8) EIGHT(X, 9)
#define INNER_EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define INNER_ALL(X) \
	INNER_EIGHT(X, 1) INNER_EIGHT(X, 2) INNER_EIGHT(X, 3) INNER_EIGHT(X, 4) INNER_EIGHT(X, 5) \
	INNER_EIGHT(X, 6) INNER_EIGHT(X, 7) INNER_EIGHT(X, 8) INNER_EIGHT(X, 9)

static inline __attribute__((always_inline)) void plant(size_t n)
{
	void *volatile p = malloc(n);
	free(p);
}

/* Prevents a tail call, which would remove this frame. */
#define BEHIND __asm__ volatile("" ::: "memory")

#define BED(n) \
	static __attribute__((noinline)) void bed_##n(void) { plant(n); BEHIND; }
ALL(BED)

#define CASE(n) case n: bed_##n(); BEHIND; break;
#define FIELD(n) \
	static __attribute__((noinline)) void field_##n(int to) { switch (to) { INNER_ALL(CASE) } }
ALL(FIELD)

#define FIELD_CASE(n) case n: field_##n(to); BEHIND; break;
static __attribute__((noinline)) void walk(int deep, int from, int to)
{
	if (deep)
		walk(deep - 1, from, to);
	else
		switch (from) { ALL(FIELD_CASE) }
	BEHIND;
}

int main(int argc, char **argv)
{
#define NUMBER(n) n,
	static const int numbers[] = { ALL(NUMBER) };
	const unsigned long n = sizeof(numbers) / sizeof(*numbers), events = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char byte;
	printf("ready\n");
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		return 1;
	for (unsigned long i = 0; i < events / 2; i++)
		walk(12, numbers[i % n], numbers[i / n % n]);
	printf("%lu\n", events / 2 * 2);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
