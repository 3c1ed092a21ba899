/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/infile: opens input files that the user named. Anything but a regular file is refused with a clear error:
 * opening a pipe could block, and a device may have no end.
 */
#ifndef ALYS_ACCESS_INFILE_H
#define ALYS_ACCESS_INFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Opens a file now, so that a later infile_open of the same path succeeds without the privileges to open it. any:
 * accept files that are not regular. 0 or -errno; path NULL: nothing to do.
 */
int infile_keep(const char *path, bool any, struct err *err);
/* A descriptor, also of a pipe; or -errno. */
int infile_open_any(const char *path, struct err *err);
/* A descriptor of a regular file, or -errno. */
int infile_open(const char *path, struct err *err);
/* Appends the whole file, at most `most` bytes, to out. 0 or -errno. */
int infile_read(const char *path, uint64_t most, struct buf *out, struct err *err);

#endif
