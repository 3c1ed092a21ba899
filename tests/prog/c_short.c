/* A short-lived process: allocates and frees 20000 blocks immediately after its start, then exits. */
#include <stdlib.h>

#define ROUNDS 20000
#define SIZE 77

void *site_short(void);

__attribute__((noipa)) void *site_short(void)
{
	void *p = malloc(SIZE);

	__asm__ volatile("" : "+r"(p));
	return p;
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++)
		free(site_short());
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
