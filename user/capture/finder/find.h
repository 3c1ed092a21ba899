/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder: decides where probes go in one ELF file. In: the file's symbols and code, the table of allocators. Out: a list of sites.
 * Read-only; attaches nothing.
 */
#ifndef ALYS_FINDER_FIND_H
#define ALYS_FINDER_FIND_H

#include "elf/elf.h"
#include "finder/asked.h"
#include "sites/sites.h"

/* An empty list is not an error: most files define no allocator. */
int sites_find(const struct elf *e, const char *path, const struct sites_options *o, struct site_list *out, struct err *err);
/* The same for an open file, which must be a complete x86-64 ELF file (else -ENOEXEC). */
int sites_find_in(int fd, const char *path, const struct sites_options *o, struct site_list *out, struct err *err);
#endif
