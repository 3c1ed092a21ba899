/* libs: -lgc -lpthread */
/* rates.h with libgc, which is sampled at refills. */
#define GC_THREADS
#include <gc.h>

#define SMALL(size) (GC_malloc)(size)
#define DROP(p) (void)(p)
#define BEGIN() GC_INIT()
#include "rates.h"
/* SPDX-License-Identifier: Apache-2.0 */
