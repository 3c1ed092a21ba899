/* SPDX-License-Identifier: Apache-2.0 */
/* probe/priced of x86-64: see priced.h. */
#include "probe/priced.h"

__asm__(".pushsection .text\n"
	".globl priced, priced_stepped\n"
	".hidden priced, priced_stepped\n"
	".type priced, %function\n"
	"priced:\n"
	"	push %rbp\n"
	"priced_stepped:\n"
	"	pop %rbp\n"
	"	ret\n"
	".size priced, . - priced\n"
	".popsection\n");
