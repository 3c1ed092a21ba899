/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/secret_file: reads files that hold secrets, or decide whom a secret is given to. Refused are files that another
 * user could change or replace, and secrets that another user could read.
 */
#ifndef ALYS_ACCESS_SECRET_FILE_H
#define ALYS_ACCESS_SECRET_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the whole file, at most `most` bytes. readable: it is no secret in itself. 0 or -errno. */
int secret_file_read(const char *path, bool readable, uint64_t most, struct buf *out, struct err *err);

#endif
