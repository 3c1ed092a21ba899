/* malloc(4243) always from the same stack, 60 functions deep; the test attaches return probes to p_0 .. p_3. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 60

int p_0(int depth);
int p_1(int depth);
int p_2(int depth);
int p_3(int depth);

static __attribute__((noinline)) int next(int depth)
{
	static int (*const all[])(int) = { p_0, p_1, p_2, p_3 };
	if (depth)
		return all[depth % 4](depth - 1) + 1;
	void *volatile p = malloc(4243);
	free(p);
	return 0;
}

#define FUNCTION(name)                                                                                                 \
	__attribute__((noinline)) int name(int depth)                                                                  \
	{                                                                                                              \
		return next(depth) + 1;                                                                                \
	}

FUNCTION(p_0)
FUNCTION(p_1)
FUNCTION(p_2)
FUNCTION(p_3)

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	volatile int sum = 0;
	while (time(NULL) < end) {
		sum += next(DEPTH);
		usleep(200);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
