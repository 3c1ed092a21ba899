/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/wire_register of aarch64: see wire_register.h. Results are in the register of the result, because a `ret` is
 * emulated; lists in any that a call preserves.
 */
#include "code/wire_register.h"

#include "alys.h"

uint8_t wire_reg(insn_regs regs)
{
	return regs & INSN_BIT(insn_machine.result) ? 0 : (uint8_t)__builtin_ctz(regs);
}

const char *wire_name(uint8_t reg)
{
	static const char *const names[] = {
		"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
		"x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
		"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
		"x24", "x25", "x26", "x27", "x28", "x29", "x30", [ALYS_REG_LIST] = "the list's head",
	};
	bool listed = reg > ALYS_REG_LIST && reg < 2 * ALYS_REG_LIST && names[reg - ALYS_REG_LIST];
	return reg <= ALYS_REG_LIST ? names[reg] : listed ? names[ALYS_REG_LIST] : NULL;
}
