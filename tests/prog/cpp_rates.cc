/* libs: -lpthread */
/* rates.h with operator new: every call hits its own probe and that of malloc, which it calls. */
#include <new>
#define SMALL(size) operator new(size)
#define DROP(p) FREE(operator delete, p)
#define BEGIN() (void)0
#define END() (void)0
#include "rates.h"
/* SPDX-License-Identifier: Apache-2.0 */
