/* libs: -lpthread */
/* rates.h with malloc, where every call hits a probe. */
#define SMALL(size) malloc(size)
#define DROP(p) FREE(free, p)
#define BEGIN() (void)0
#define END() (void)0
#include "rates.h"
/* SPDX-License-Identifier: Apache-2.0 */
