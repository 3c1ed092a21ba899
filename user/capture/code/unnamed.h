/* SPDX-License-Identifier: Apache-2.0 */
/* code/unnamed: functions that stripped libraries jump to without naming them, recognized by their code. */
#ifndef ALYS_CODE_UNNAMED_H
#define ALYS_CODE_UNNAMED_H

#include <stdint.h>

#include "elf/elf.h"

/* The name of the function that begins at vaddr; NULL: not recognized. */
const char *unnamed_function(const struct elf *e, uint64_t vaddr);

#endif
