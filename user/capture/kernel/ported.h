/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/ported: whether programs can be recorded on this architecture. */
#ifndef ALYS_KERNEL_PORTED_H
#define ALYS_KERNEL_PORTED_H

#include <stdbool.h>

bool ported(void);

#endif
