/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/ported of aarch64: see ported.h. Site analysis and unwind rows know x86-64 only. */
#include "kernel/ported.h"

bool ported(void)
{
	return false;
}
