/* SPDX-License-Identifier: Apache-2.0 */
/* collector/place: what is mapped into a process, and where a file lies there. */
#ifndef ALYS_COLLECTOR_PLACE_H
#define ALYS_COLLECTOR_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "boehm/space.h"
#include "elf/elf.h"

/* Its mappings, to be freed with space_free. -ESRCH when it has ended. */
int place_space(uint32_t tgid, struct space *out, struct err *err);
/* Address in the process less address in the file. False: the file (dev and ino as maps have them) is not mapped there. */
bool place_bias(const struct elf *e, const struct space *s, uint64_t dev, uint64_t ino, uint64_t *bias);

#endif
