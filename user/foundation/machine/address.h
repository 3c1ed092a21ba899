/* SPDX-License-Identifier: Apache-2.0 */
/* machine/address: addresses of programs. */
#ifndef ALYS_MACHINE_ADDRESS_H
#define ALYS_MACHINE_ADDRESS_H

/* Bits of an address in user space: 47 on x86-64, 48 on aarch64. More only if a program asks for such addresses. */
#define ADDRESS_BITS 48
#define ADDRESS_END (1ull << ADDRESS_BITS)

#endif
