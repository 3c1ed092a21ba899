/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target/jit: code that a process made while it ran: executable memory of no file, as one module
 * from the lowest to the highest of it, and the file that its virtual machine names it in for perf.
 */
#ifndef ALYS_TARGET_JIT_H
#define ALYS_TARGET_JIT_H

#include "catalog/catalog.h"
#include "target/proc.h"

struct jit {
	struct map_id map; /* 0: the process has no such memory */
	struct module_id module;
	uint64_t start, end;
	int own, inherited; /* where its names are written (base/places): not above 0 = nowhere */
};

/* Whether a line of maps is such memory. */
bool jit_is(const struct map_line *line);
/* Takes it in; false when it was in already. */
bool jit_grow(struct jit *j, const struct map_line *line);
void jit_find_names(struct jit *j, uint32_t tgid);
/*
 * After a fork: the child runs its parent's code, and the file that names it is still open in both,
 * for what they make from now on. Comes after jit_find_names.
 */
void jit_inherit(struct jit *child, const struct jit *parent);
/* /tmp/perf-PID.map as it is now, its parent's when there is none: a descriptor, the caller's, or -1. */
int jit_open(const struct jit *j);
void jit_close(struct jit *j);

#endif
