/* SPDX-License-Identifier: Apache-2.0 */
/* machine/pac: pointer authentication, by which processors of aarch64 sign return addresses. */
#ifndef ALYS_MACHINE_PAC_H
#define ALYS_MACHINE_PAC_H

#include <stdint.h>

/* Bits of a return address that are its signature, the same in all processes; 0 = none. */
uint64_t pac_mask(void);

#endif
