/* libs: -l:libgc.a -lpthread -ldl */
/*
 * As c_gclive.c, with a statically linked collector that looks unlike any known version: two functions seem to count
 * collections, so no probe can be placed where a collection begins and ends.
 */
#include "c_gclive.c"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* In a section behind the collector's code, so that it does not lie among the program's own functions. */
__attribute__((section(".text.zz_odd"), used, noinline)) void GC_count_once_more(void)
{
	GC_gc_no++;
}
/* SPDX-License-Identifier: Apache-2.0 */
