/* SPDX-License-Identifier: Apache-2.0 */
/* machine/pac of x86-64, which has nothing like it: see pac.h. */
#include "machine/pac.h"

uint64_t pac_mask(void)
{
	return 0;
}
