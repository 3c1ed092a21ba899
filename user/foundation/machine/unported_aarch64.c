/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine/unported of aarch64: see unported.h. What reads layouts from machine code (code/tcache, code/counter, sites/lists,
 * sites/collections, beam) knows x86-64 only: there, it finds nothing.
 */
#include "machine/unported.h"

const char *unported(void)
{
	return "calls are recorded as on x86-64, but no result is known at the entry; not there yet: libgc's refills "
	       "(--sample-at "
	       "refill) and what it collected, heaps of Erlang VMs; not possible: --rss";
}
