/* SPDX-License-Identifier: Apache-2.0 */
/* machine/unported of aarch64: see unported.h. Site analysis and unwind rows know x86-64 only. */
#include "machine/unported.h"

const char *unported(void)
{
	return "recording works on x86-64 only: record there, and read the trace here";
}
