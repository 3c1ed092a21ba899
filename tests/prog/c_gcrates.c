/* libs: -lgc -lpthread */
/* rates.h with libgc, which is sampled at refills. */
#define GC_THREADS
#include <gc.h>

#define SMALL(size) (GC_malloc)(size)
#define DROP(p) (void)(p)
#define BEGIN() GC_INIT()
#define END() dprintf(1, "collections %lu\n", (unsigned long)GC_get_gc_no())
#include "rates.h"
/* SPDX-License-Identifier: Apache-2.0 */
