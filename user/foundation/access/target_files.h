/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/target_files: opens files of another process, as that process sees them. Opening a pipe or a device can have side
 * effects, so only regular files are opened.
 */
#ifndef ALYS_ACCESS_TARGET_FILES_H
#define ALYS_ACCESS_TARGET_FILES_H

#include <stdint.h>

/* All return a descriptor or -errno; -ENODEV: not a regular file. */

/* Reopens an O_PATH descriptor for reading; the O_PATH descriptor is consumed. */
int target_file_reopen(int place);
/* An O_PATH descriptor; links are resolved below the process' root. With O_DIRECTORY it must be a directory. */
int target_file_locate(uint32_t tgid, const char *path, int flags);
int target_file_open(uint32_t tgid, const char *path);
/* The file mapped at this range, even if it was deleted, replaced or lies in another mount namespace. */
int target_file_mapped(uint32_t tgid, uint64_t start, uint64_t end);

#endif
