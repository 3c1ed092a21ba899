/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/outfile: makes output files without being led astray. When root writes into a directory of
 * somebody else, a planted link must not turn that into a write elsewhere.
 */
#ifndef ALYS_ACCESS_OUTFILE_H
#define ALYS_ACCESS_OUTFILE_H

#include <stdbool.h>

#include <stdint.h>

#include "base/err.h"

/*
 * A new file of mode 0600 at path, opened for reading and writing. An existing file is refused, or with
 * force unlinked first (never truncated: that would write through links); what is not a regular file
 * is always refused. Under sudo the file is given to the calling user. Returns fd or -errno.
 */
int outfile_create(const char *path, bool force, struct err *err);

/* "-" as a path, which outfile_create and outfile_begin take for standard output; ./- is a file of that name. */
bool outfile_is_stdout(const char *path);
/* What is not text does not go to a terminal: 0, or -EINVAL where path leads to one. */
int outfile_refuse_terminal(const char *path, const char *what, struct err *err);

/*
 * The same, but the file appears under its name only when outfile_commit succeeds, so that nobody
 * ever reads half of it.
 */
struct outfile {
	int fd;
	uint64_t size;   /* after outfile_commit, of the file that is there then; 0 of standard output */
	char path[4096]; /* empty: standard output, which stays open and is not taken back */
	char temp[4096];
};

int outfile_begin(struct outfile *o, const char *path, bool force, struct err *err);
int outfile_commit(struct outfile *o, struct err *err); /* fsync, rename, close */
void outfile_abort(struct outfile *o);                  /* close, remove; after commit does nothing */
/* Whole buffer or error; loops over short writes and EINTR. */
int outfile_write(int fd, const void *bytes, unsigned long n);
/* The sentence for an error of writing there; path as given, NULL or "-" for standard output. Gives -code. */
int outfile_failed(const char *path, int code, struct err *err);
/* Text to standard output. */
int outfile_print(const void *bytes, unsigned long n, struct err *err);

#endif
