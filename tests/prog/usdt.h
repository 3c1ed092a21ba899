/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe as SystemTap's sys/sdt.h defines it: a nop, and a note with its address, the address of its tracers' counter, and
 * the locations of its arguments. Here the locations are written out literally, to cover every form.
 */
#ifndef ALYS_PROG_USDT_H
#define ALYS_PROG_USDT_H

/* clang-format off */
#define USDT(provider, name, counter, code, args, ...)              \
	__asm__ volatile("990: " code "\n"                           \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n" \
			 ".balign 4\n"                                \
			 ".4byte 992f-991f, 994f-993f, 3\n"           \
			 "991: .asciz \"stapsdt\"\n"                  \
			 "992: .balign 4\n"                           \
			 "993: .8byte 990b\n"                         \
			 ".8byte 0\n"                                 \
			 ".8byte " counter "\n"                       \
			 ".asciz \"" provider "\"\n"                  \
			 ".asciz \"" name "\"\n"                      \
			 ".asciz \"" args "\"\n"                      \
			 "994: .balign 4\n"                           \
			 ".popsection\n" ::__VA_ARGS__)
/* clang-format on */

#define USDT_COUNTER __attribute__((section(".probes"), used, visibility("hidden"))) unsigned short

#endif
