/* SPDX-License-Identifier: Apache-2.0 */
/* collector/place: a process whose heap is read: its name, its mappings, and the load addresses of files in it. */
#ifndef ALYS_COLLECTOR_PLACE_H
#define ALYS_COLLECTOR_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "boehm/memory.h"
#include "boehm/space.h"
#include "elf/elf.h"

struct place {
	char comm[64], exe[4096]; /* the path as maps have it; the name is clean */
	uint64_t start_ns;        /* of the process, CLOCK_MONOTONIC */
};

/* Fills in all three for m->tgid. -ESRCH, -EACCES, -ENOENT (a kernel thread), with one sentence. Then space_free. */
int place_begin(struct memory *m, struct space *s, struct place *out, struct err *err);
/* The file that is mapped there: NULL when it cannot be opened. Then elf_close and close(*fd). */
struct elf *place_file(uint32_t tgid, const struct space_region *r, int *fd);
/* Its mappings, freed with space_free. -ESRCH if it has ended. */
int place_space(uint32_t tgid, struct space *out, struct err *err);
/* Address in the process - address in the file. False: the file (dev and ino as in maps) is not mapped there. */
bool place_bias(const struct elf *e, const struct space *s, uint64_t dev, uint64_t ino, uint64_t *bias);

#endif
