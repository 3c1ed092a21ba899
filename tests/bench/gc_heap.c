/* flags: -O2 */
/* libs: -lgc */
/*
 * A heap that does not change: `gc_heap OBJECTS SIZE`. Prints "ready" and the collector's own numbers; ends at EOF on
 * stdin. Objects form lists of ten; their first word is a type id, as in Crystal.
 */
#include <gc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	uint32_t id, number;
	struct node *next;
};

static struct node **volatile kept;

int main(int argc, char **argv)
{
	size_t objects = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, size = argc > 2 ? strtoul(argv[2], NULL, 10) : 32;
	GC_INIT();
	kept = GC_malloc((objects / 10 + 1) * sizeof(*kept));
	for (size_t i = 0; i < objects; i++) {
		struct node *n = GC_malloc(size);
		n->id = 5 + (uint32_t)(i % 10);
		n->number = (uint32_t)i;
		n->next = kept[i / 10];
		kept[i / 10] = n;
	}
	GC_gcollect();
	printf("ready\n%lu %lu\n", (unsigned long)GC_get_heap_size(), (unsigned long)GC_get_gc_no());
	fflush(stdout);
	return getchar() == 'x';
}
/* SPDX-License-Identifier: Apache-2.0 */
