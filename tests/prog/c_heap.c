/* libs: -lgc */
/*
 * A heap of 20,000 objects of many sizes and kinds, some kept and some dropped. Prints the heap's totals, then what the
 * collector itself says of each object: a line "address base size kind marked". Then it waits. With the argument "gone",
 * for each line on stdin the second half of the kept objects is dropped and collected, and the objects are printed again.
 */
#include <gc.h>
#include <gc/gc_mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OBJECTS 20000
#define HIDDEN(p) (~(uintptr_t)(p))

static void *volatile kept[OBJECTS]; /* a root */
static uintptr_t all[OBJECTS];
static int kinds[OBJECTS];

static void *allocate(int kind, size_t size)
{
	switch (kind) {
	case 0:
		return GC_malloc_atomic(size);
	case 1:
		return GC_malloc(size);
	default:
		return GC_malloc_uncollectable(size);
	}
}

static __attribute__((noinline)) void fill(int from, int until)
{
	static const size_t large[] = { 2049, 4095, 4096, 4097, 10000, 70000, 1 << 20 };
	for (int i = from; i < until; i++) {
		size_t size = i % 400 == 399 ? large[i / 400 % 7] : 1 + (size_t)i * 61 % 2048;
		int kind = i % 50 == 49 ? 2 : i & 1;
		void *p = allocate(kind, size);
		kinds[i] = kind;
		all[i] = HIDDEN(p);
		kept[i] = i % 3 ? p : NULL;
	}
}

static void tell(void)
{
	printf("heap pid=%d gc_no=%lu bytes=%lu unmapped=%lu free=%lu\n", getpid(), (unsigned long)GC_get_gc_no(),
	       (unsigned long)GC_get_heap_size(), (unsigned long)GC_get_unmapped_bytes(), (unsigned long)GC_get_free_bytes());
	for (int i = 0; i < OBJECTS; i++) {
		uintptr_t addr = ~all[i] + (i % 5 == 0);
		void *base = GC_base((void *)addr);
		printf("%lx %lx %lu %d %d\n", addr, (uintptr_t)base, base ? GC_size(base) : 0ul, kinds[i],
		       base && GC_is_marked(base));
	}
	puts("end");
	fflush(stdout);
}

int main(void)
{
	char line[16];
	GC_INIT();
	fill(0, OBJECTS / 2);
	GC_gcollect();
	fill(OBJECTS / 2, OBJECTS);
	GC_gcollect();
	/* Some objects are allocated after the last collection. */
	for (int i = 0; i < 500; i++)
		kept[i] = (void *)(~(all[i] = HIDDEN(allocate(i & 1, 1 + i))));
	for (tell(); fgets(line, sizeof(line), stdin); tell()) {
		for (int i = OBJECTS / 2; i < OBJECTS; i++)
			kept[i] = NULL;
		GC_gcollect();
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
