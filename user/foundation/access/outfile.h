/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/outfile: creates output files safely. When root writes into another user's directory, a planted link must not
 * redirect the write.
 */
#ifndef ALYS_ACCESS_OUTFILE_H
#define ALYS_ACCESS_OUTFILE_H

#include <stdbool.h>

#include <stdint.h>

#include "base/err.h"

/*
 * Creates a file of mode 0600 at path, open for reading and writing. An existing file is refused, or with force
 * unlinked first (never truncated: that would follow links); anything but a regular file is always refused. Under sudo
 * the file is owned by the calling user. Returns fd or -errno.
 */
int outfile_create(const char *path, bool force, struct err *err);

/* "-" means standard output to outfile_create and outfile_begin; use ./- for a file of that name. */
bool outfile_is_stdout(const char *path);
/* Binary data is not written to a terminal: 0, or -EINVAL if path leads to one. */
int outfile_refuse_terminal(const char *path, const char *what, struct err *err);

/*
 * As outfile_create, but the file appears under its name only when outfile_commit succeeds, so that nobody reads half
 * of it.
 */
struct outfile {
	int fd;
	uint64_t size;   /* set by outfile_commit; 0 for standard output */
	char path[4096]; /* empty: standard output, which is not closed and cannot be undone */
	char temp[4096];
};

int outfile_begin(struct outfile *o, const char *path, bool force, struct err *err);
int outfile_commit(struct outfile *o, struct err *err); /* fsync, rename, close */
void outfile_abort(struct outfile *o);                  /* close, remove; does nothing after commit */
/* Writes the whole buffer or fails; handles short writes and EINTR. */
int outfile_write(int fd, const void *bytes, unsigned long n);
/* Fills err for a failed write to path (as given; NULL or "-": standard output). Returns -code. */
int outfile_failed(const char *path, int code, struct err *err);
/* Writes text to standard output. */
int outfile_print(const void *bytes, unsigned long n, struct err *err);

#endif
