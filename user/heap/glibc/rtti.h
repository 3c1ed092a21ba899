/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/rtti: names of C++ classes by their vtables in a process, of the Itanium ABI. */
#ifndef ALYS_GLIBC_RTTI_H
#define ALYS_GLIBC_RTTI_H

#include "base/buf.h"
#include "boehm/memory.h"
#include "boehm/space.h"

/* Read-only data of a file, where vtables and their names lie. */
bool rtti_may_hold(const struct space *s, uint64_t addr);
/* The typeinfo of each vtable; 0: none, or no vtable. 0 or -errno. */
int rtti_find(struct memory *m, const struct space *s, const uint64_t *vtables, size_t cnt, uint64_t *infos);
/* Appends the class's name, clean. False: there is none, and this is no typeinfo. */
bool rtti_name(struct memory *m, const struct space *s, uint64_t info, struct buf *out);
/* By symbols of the files that hold them (_ZTV...): names[i] is allocated for those of the vtables that have one. */
int rtti_by_symbols(uint32_t tgid, const struct space *s, const uint64_t *vtables, size_t cnt, char **names);

#endif
