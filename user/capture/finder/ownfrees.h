/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/ownfrees: calls of free that an allocator makes itself. When a thread ends, glibc passes the blocks of its
 * tcache to free: the program has freed them already, so these are not its frees.
 */
#ifndef ALYS_FINDER_OWNFREES_H
#define ALYS_FINDER_OWNFREES_H

#include "finder/plan.h"

/* Fills the list's own_frees and code. */
void ownfrees_find(struct plan *p);

#endif
