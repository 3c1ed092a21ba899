/* libgc's entry points, with finalizers that allocate. Argument: seconds. */
/* libs: -lgc */
#include <gc.h>
#include <stdlib.h>
#include <time.h>

struct node {
	struct node *next;
	long payload[6];
};

static volatile long finalized;

static void finalizer(void *object, void *data)
{
	(void)object;
	finalized += (long)GC_MALLOC_ATOMIC(40) & 1 ? 0 : 1;
	*(long *)data += 1;
}

static __attribute__((noinline)) struct node *grow(int depth, long *count)
{
	struct node *n = GC_MALLOC(sizeof(*n));
	if (depth % 7 == 0)
		GC_REGISTER_FINALIZER(n, finalizer, count, NULL, NULL);
	n->next = depth ? grow(depth - 1, count) : NULL;
	return n;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	static long count;
	void *volatile block = NULL;
	GC_INIT();
	while (time(NULL) < end) {
		for (int i = 0; i < 100; i++)
			grow(60, &count);
		block = GC_MALLOC(100000);
		block = GC_REALLOC(block, 200000);
		GC_FREE(block);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
