/*
 * access/infile: opens files that somebody named to be read. What is no file is refused at once, with a sentence: a pipe
 * would be waited for, and a device may never end.
 */
#ifndef ALYS_ACCESS_INFILE_H
#define ALYS_ACCESS_INFILE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* A descriptor of a regular file, or -errno. */
int infile_open(const char *path, struct err *err);
/* All of a file of at most so many bytes, appended to out. 0 or -errno. */
int infile_read(const char *path, uint64_t most, struct buf *out, struct err *err);

#endif
