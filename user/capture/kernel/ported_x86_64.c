/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/ported of x86-64: see ported.h. */
#include "kernel/ported.h"

bool ported(void)
{
	return true;
}
