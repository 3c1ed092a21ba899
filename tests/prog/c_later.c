/* libs: -lpthread */
/* rates.h with malloc, and in the second half with memalign, which nothing has called before, in no process. */
#include <malloc.h>

static int is_later(void);

#define SMALL(size) (is_later() ? memalign(16, size) : malloc(size))
#define DROP(p) FREE(free, p)
#define BEGIN() (void)0
#define END() (void)0
#include "rates.h"

static int is_later(void)
{
	static double begun;
	begun = begun > 0 ? begun : now();
	return now() - begun > seconds / 2;
}
/* SPDX-License-Identifier: Apache-2.0 */
