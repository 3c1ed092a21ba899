/* Loaded by c_dlopen at run time: code that was not mapped yet when the tracer attached. */
#include <stdlib.h>

void *site_plugin(size_t n);

__attribute__((noipa)) void *site_plugin(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}
/* SPDX-License-Identifier: Apache-2.0 */
