/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine/pac of aarch64: see pac.h. The processor is asked, with the instruction that strips a signature (xpaclri, a nop
 * where there is none). What it clears is what the kernel says by NT_ARM_PAC_MASK of instruction addresses.
 */
#include "machine/pac.h"

/* Bit 55 says that an address is a user's, and is not part of a signature. */
#define ALL_BITS 0xff7fffffffffffffull

uint64_t pac_mask(void)
{
	register uint64_t pointer asm("x30") = ALL_BITS;
	asm volatile("hint #7" : "+r"(pointer)); /* xpaclri */
	return pointer ^ ALL_BITS;
}
