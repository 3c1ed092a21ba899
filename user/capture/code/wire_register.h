/* SPDX-License-Identifier: Apache-2.0 */
/* code/wire_register: registers as BPF and people name them (ALYS_REG_*). */
#ifndef ALYS_CODE_WIRE_REGISTER_H
#define ALYS_CODE_WIRE_REGISTER_H

#include "code/decode.h"

/* The preferred one of these registers: the result's, then what a call preserves. */
uint8_t wire_reg(insn_regs regs);
/* NULL: this machine has none of this number, or it is the stack pointer. Of a list its head, wherever its address is. */
const char *wire_name(uint8_t reg);

#endif
