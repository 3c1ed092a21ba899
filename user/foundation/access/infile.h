/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/infile: opens files that somebody named to be read. What is no file is refused at once, with a sentence: a pipe
 * would be waited for, and a device may never end.
 */
#ifndef ALYS_ACCESS_INFILE_H
#define ALYS_ACCESS_INFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Opens it now, for whoever opens or reads it later without the right to: that gets this one. any: also
 * what is no regular file. 0 or -errno; path NULL: there is none.
 */
int infile_keep(const char *path, bool any, struct err *err);
/* A descriptor of what may be a pipe, too, or -errno. */
int infile_open_any(const char *path, struct err *err);
/* A descriptor of a regular file, or -errno. */
int infile_open(const char *path, struct err *err);
/* All of a file of at most so many bytes, appended to out. 0 or -errno. */
int infile_read(const char *path, uint64_t most, struct buf *out, struct err *err);

#endif
