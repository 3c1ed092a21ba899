/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine/unported of aarch64: see unported.h. Results could be predicted only if the kernel always knew a running thread's pointer.
 */
#include "machine/unported.h"

const char *unported(void)
{
	return "calls are recorded as on x86-64, but no result is known at the entry";
}
