/* SPDX-License-Identifier: Apache-2.0 */
/* notes/noted: the sites of a file's own probes (USDT) that report allocations and frees. */
#ifndef ALYS_NOTES_NOTED_H
#define ALYS_NOTES_NOTED_H

#include "sites/sites.h"

#define NOTED_MAX 256 /* of one file */

/*
 * A site for each note that the table of allocators has. The other functions of the file are left out: their calls would be the
 * same blocks again. An empty list is not an error; with -ENOMEM and -E2BIG (more than NOTED_MAX) it is empty, too.
 */
int noted_find(const struct elf *e, struct site_list *out, struct err *err);

/* Do the program's own probes report allocations, so that its allocators need not be probed? */
bool noted_serves(const struct site_list *l);

#endif
