/* SPDX-License-Identifier: Apache-2.0 */
/* probe/priced of x86-64: see price.h. */
#include "probe/price.h"

__asm__(".pushsection .text\n"
	".globl priced, priced_stepped, priced_many\n"
	".hidden priced, priced_stepped, priced_many\n"
	".type priced, %function\n"
	"priced:\n"
	"	push %rbp\n"
	"priced_stepped:\n"
	"	pop %rbp\n"
	"	ret\n"
	".size priced, . - priced\n"
	".type priced_many, %function\n"
	"priced_many:\n"
	"	.rept 32\n"
	"	push %rbp\n"
	"	.endr\n"
	".size priced_many, . - priced_many\n"
	".popsection\n");
