/* libs: -lgc */
/*
 * Allocates between collections and prints the number of calls for each value of GC_gc_no: `c_gcnumber [untold]`. With
 * "untold", the number also rises without a collection, which no real collector does.
 */
#include <dlfcn.h>
#include <gc.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 40
#define CALLS 300
#define SIZE 77

static unsigned counts[4 * ROUNDS];

static void collect(void)
{
	GC_enable();
	GC_gcollect();
	GC_disable();
}

int main(int argc, char **argv)
{
	int untold = argc > 1 && !strcmp(argv[1], "untold");
	GC_word *number = dlsym(RTLD_DEFAULT, "GC_gc_no");
	if (!number)
		return 7;
	GC_INIT();
	GC_disable();
	for (int i = 0; i < ROUNDS; i++) {
		if (untold && i > ROUNDS / 2)
			(*number)++;
		else
			collect();
		for (int k = 0; k < CALLS; k++) {
			void *volatile p = GC_malloc(SIZE);
			(void)p;
			counts[GC_get_gc_no()]++;
		}
	}
	printf("{");
	for (GC_word n = 0; n < 4 * ROUNDS; n++)
		printf("%s\"%lu\":%u", n ? "," : "", (unsigned long)n, counts[n]);
	printf("}\n");
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
