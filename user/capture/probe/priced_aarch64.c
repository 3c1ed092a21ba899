/* SPDX-License-Identifier: Apache-2.0 */
/* probe/priced of aarch64: see price.h. The kernel emulates adr: arch/arm64/kernel/probes/decode-insn.c. */
#include "probe/price.h"

__asm__(".pushsection .text\n"
	".globl priced, priced_stepped, priced_many\n"
	".hidden priced, priced_stepped, priced_many\n"
	".type priced, %function\n"
	"priced:\n"
	"	adr x9, .\n"
	"priced_stepped:\n"
	"	mov x9, x10\n"
	"	ret\n"
	".size priced, . - priced\n"
	".type priced_many, %function\n"
	"priced_many:\n"
	"	.rept 32\n"
	"	adr x9, .\n"
	"	.endr\n"
	".size priced_many, . - priced_many\n"
	".popsection\n");
