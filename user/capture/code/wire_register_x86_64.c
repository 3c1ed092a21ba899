/* SPDX-License-Identifier: Apache-2.0 */
/* code/wire_register of x86-64: see wire_register.h. */
#include "code/wire_register.h"

#include "alys.h"

uint8_t wire_reg(insn_regs regs)
{
	static const uint8_t order[] = { 0, 3, 5, 12, 13, 14, 15, 1, 2, 6, 7, 8, 9, 10, 11 };
	static const uint8_t wire[] = { [0] = ALYS_REG_RAX,
					[1] = ALYS_REG_RCX,
					[2] = ALYS_REG_RDX,
					[3] = ALYS_REG_RBX,
					[5] = ALYS_REG_RBP,
					[6] = ALYS_REG_RSI,
					[7] = ALYS_REG_RDI,
					[8] = 7,
					[9] = 8,
					[10] = 9,
					[11] = 10,
					[12] = 11,
					[13] = 12,
					[14] = 13,
					[15] = 14 };
	for (size_t i = 0; i < sizeof(order); i++)
		if (regs & INSN_BIT(order[i]))
			return wire[order[i]];
	return ALYS_REG_RAX;
}

const char *wire_name(uint8_t reg)
{
	static const char *const names[] = {
		"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
		"r9",  "r10", "r11", "r12", "r13", "r14", "r15", [ALYS_REG_LIST] = "the list's head",
	};
	bool listed = reg > ALYS_REG_LIST && reg < 2 * ALYS_REG_LIST && names[reg - ALYS_REG_LIST];
	return reg <= ALYS_REG_LIST ? names[reg] : listed ? names[ALYS_REG_LIST] : NULL;
}
