/* SPDX-License-Identifier: Apache-2.0 */
/* code/wire_register of aarch64: see wire_register.h. Sites use the register of the result only: a `ret` is emulated. */
#include "code/wire_register.h"

uint8_t wire_reg(insn_regs regs)
{
	return regs & INSN_BIT(insn_machine.result) ? 0 : (uint8_t)__builtin_ctz(regs);
}

const char *wire_name(uint8_t reg)
{
	static const char *const names[] = { "x0", "x1", "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
					     "x8", "x9", "x10", "x11", "x12", "x13", "x14", "the list's head" };
	return names[reg];
}
