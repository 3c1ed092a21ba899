/* One of the two libraries that c_swap loads alternately: the same code with another name. */
#include <stdlib.h>

void *site_other(size_t n);

__attribute__((noipa)) void *site_other(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}
/* SPDX-License-Identifier: Apache-2.0 */
