/* SPDX-License-Identifier: Apache-2.0 */
/* machine/unported of x86-64: see unported.h. */
#include "machine/unported.h"

#include <stddef.h>

const char *unported(void)
{
	return NULL;
}
