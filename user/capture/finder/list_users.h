/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finder/list_users: does a file's code take whole lists of free objects from libgc, to hand them out itself? The macros of
 * gc_inline.h do, and interpreters. In: the file, and the address range of the collector's own code. Out: yes or no.
 *
 * Imports and direct calls are found, but not dlsym or stored function pointers.
 */
#ifndef ALYS_FINDER_LIST_USERS_H
#define ALYS_FINDER_LIST_USERS_H

#include "sites/sites.h"

/* Only the collector's text range of the list is used: zero if the file has none. */
bool list_users_in(const struct elf *e, const struct site_list *l);

#endif
