/* SPDX-License-Identifier: Apache-2.0 */
/* libs: -shared -fPIC */
/* A function that is chosen when the dynamic linker binds it, by code that calls a probed one. */
#include <stddef.h>

static volatile unsigned long work;

__attribute__((noinline, visibility("hidden"))) void hit(size_t size)
{
	work += size;
}

static void implementation(void)
{
	work++;
}

static void (*choose(void))(void)
{
	hit(64);
	return implementation;
}

void chosen(void) __attribute__((ifunc("choose")));
