/* SPDX-License-Identifier: Apache-2.0 */
/* Words of test_notes.c as the assembler of x86-64 has them; percent is doubled in templates. The twin is in ../aarch64. */
#ifndef ALYS_UNIT_NOTE_WORDS_H
#define ALYS_UNIT_NOTE_WORDS_H

#define IN_REGISTER(percent) "8@" percent "rdi"
#define IN_VECTOR(percent) "8@" percent "xmm0"
#define AT_SYMBOL(percent) "8@test_counter(" percent "rip)"
#define CONSTANT(n) "8@$" n
#define OTHER_NOP ".byte 0x0f, 0x1f, 0x44, 0, 0"

#endif
