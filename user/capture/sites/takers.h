/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites/takers: does a file's code take whole lists of free objects from libgc, to hand them out itself? gc_inline.h's
 * macros do, and interpreters. In: the file, and where the collector's own code lies in it. Out: yes or no.
 *
 * Seen are imports and direct calls; not who asks dlsym, or keeps the function's address.
 */
#ifndef ALYS_SITES_TAKERS_H
#define ALYS_SITES_TAKERS_H

#include "sites/sites.h"

/* Of the list only the collector's text is asked: all zero where the file has none. */
bool takers_in(const struct elf *e, const struct site_list *l);

#endif
