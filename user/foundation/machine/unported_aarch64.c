/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine/unported of aarch64: see unported.h. Why malloc's results are not known: docs/internals/exit-sites.md.
 */
#include "machine/unported.h"

const char *unported(void)
{
	return "calls are recorded as on x86-64, but no result of malloc is known at the entry";
}
