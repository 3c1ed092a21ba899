/* SPDX-License-Identifier: Apache-2.0 */
/* Words of test_notes.c as the assembler of aarch64 has them. The twin is in ../x86_64. */
#ifndef ALYS_UNIT_NOTE_WORDS_H
#define ALYS_UNIT_NOTE_WORDS_H

#define IN_REGISTER(percent) "8@x0"
#define IN_VECTOR(percent) "8@v0"
#define AT_SYMBOL(percent) "8@[x0, #:lo12:test_counter]"
#define CONSTANT(n) "8@" n
#define OTHER_NOP "yield"

#endif
