/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/unnamed of aarch64: see unnamed.h. glibc's calloc jumps to its generic memset, which begins by copying its second argument to all
 * bytes of a vector (sysdeps/aarch64/memset.S):
 *
 *	bti c, or nop
 *	dup v0.16b, w1
 */
#include "code/unnamed.h"

#include <string.h>

#define NOP 0xd503201fu
#define BTI_C 0xd503245fu
#define DUP_V0_W1 0x4e010c20u

const char *unnamed_function(const struct elf *e, uint64_t vaddr)
{
	uint32_t words[2];
	const uint8_t *bytes = elf_bytes(e, vaddr, sizeof(words));
	if (!bytes)
		return NULL;
	memcpy(words, bytes, sizeof(words));
	return words[words[0] == BTI_C || words[0] == NOP] == DUP_V0_W1 ? "memset" : NULL;
}
