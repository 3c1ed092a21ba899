/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/theirs: opens files of another process, in its own view. Of pipes and devices the opening alone would be felt
 * by others, so nothing but regular files is opened.
 */
#ifndef ALYS_ACCESS_THEIRS_H
#define ALYS_ACCESS_THEIRS_H

#include <stdint.h>

/* All give a descriptor or -errno; -ENODEV: it is no regular file. */

/* A place of O_PATH, which is taken, opened to be read. */
int theirs_reopen(int place);
/* Links stay below the process' root. O_PATH: a place; with O_DIRECTORY it has to be one. */
int theirs_place(uint32_t tgid, const char *path, int flags);
int theirs_file(uint32_t tgid, const char *path);
/* What is mapped there, also when it was deleted, replaced or lies in another mount namespace. */
int theirs_mapped(uint32_t tgid, uint64_t start, uint64_t end);

#endif
