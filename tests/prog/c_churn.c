/* libs: -lgc */
/*
 * Collects all the time: 3,000 objects are kept for good, garbage is made until stdin ends. Prints the kept ones as
 * c_heap.c does, all of them marked, and then runs.
 */
#include <gc.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>

#define KEPT 3000

static void *volatile kept[KEPT];

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	GC_INIT();
	for (int i = 0; i < KEPT; i++)
		kept[i] = i & 1 ? GC_malloc(1 + (size_t)i * 7 % 900) : GC_malloc_atomic(1 + (size_t)i * 7 % 900);
	GC_gcollect();
	for (int i = 0; i < KEPT; i++)
		printf("%lx %lx %lu %d 1\n", (uintptr_t)kept[i], (uintptr_t)kept[i], GC_size(kept[i]), i & 1);
	puts("end");
	fflush(stdout);
	while (!poll(&in, 1, 0)) {
		for (int i = 0; i < 2000; i++) {
			void *volatile garbage = GC_malloc(16 + (size_t)i % 500);
			(void)garbage;
		}
	}
	printf("collections %lu\n", (unsigned long)GC_get_gc_no());
	return 0;
}
