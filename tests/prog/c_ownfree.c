/* flags: -fno-builtin */
/*
 * Defines its own malloc and free, which forward to glibc's: free by a tail call, or with CALL by an ordinary call, and
 * with a header of HEADER bytes in front of each block.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef HEADER
#define HEADER 16
#endif
#define ROUNDS 10
#define BLOCKS 1000

void *__libc_malloc(size_t n);
void __libc_free(void *p);

__attribute__((noipa)) void *malloc(size_t n)
{
	char *p = (char *)__libc_malloc(n + HEADER);

	return p ? p + HEADER : NULL;
}

__attribute__((noipa)) void free(void *p)
{
	if (!p)
		return;
	__libc_free((char *)p - HEADER);
#ifdef CALL
	__asm__ volatile("" ::: "memory");
#endif
}

int main(void)
{
	void *blocks[BLOCKS];
	char byte;

	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) < 0)
		return 7;
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < BLOCKS; i++)
			blocks[i] = malloc(40 + (size_t)i);
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
