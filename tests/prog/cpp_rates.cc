/* libs: -lpthread */
/* rates.h with operator new: every call passes a probe, and that of malloc within. */
#include <new>
#define SMALL(size) operator new(size)
#define DROP(p) FREE(operator delete, p)
#define BEGIN() (void)0
#include "rates.h"
/* SPDX-License-Identifier: Apache-2.0 */
