/* SPDX-License-Identifier: Apache-2.0 */
/* collector/place: the mappings of a process, and the load address of a file in it. */
#ifndef ALYS_COLLECTOR_PLACE_H
#define ALYS_COLLECTOR_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "boehm/space.h"
#include "elf/elf.h"

/* Its mappings, freed with space_free. -ESRCH if it has ended. */
int place_space(uint32_t tgid, struct space *out, struct err *err);
/* Address in the process - address in the file. False: the file (dev and ino as in maps) is not mapped there. */
bool place_bias(const struct elf *e, const struct space *s, uint64_t dev, uint64_t ino, uint64_t *bias);

#endif
