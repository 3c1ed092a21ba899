/* libs: -lgc */
/* As c_short.c, with libgc. */
#include <gc.h>

#define ROUNDS 20000
#define SIZE 77

void *site_short(void);

__attribute__((noipa)) void *site_short(void)
{
	void *p = (GC_malloc)(SIZE);

	__asm__ volatile("" ::: "memory");
	return p;
}

int main(void)
{
	GC_INIT();
	for (int i = 0; i < ROUNDS; i++)
		(void)site_short();
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
