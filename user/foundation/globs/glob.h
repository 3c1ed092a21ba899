/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globs/glob: patterns that choose functions: NAME, or FILE:NAME for one file. * and ? match any characters; all else
 * stands for itself.
 */
#ifndef ALYS_GLOBS_GLOB_H
#define ALYS_GLOBS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* A pattern, split, for fnmatch(3); file is "" for all files. */
struct glob {
	char file[256];
	char name[1024];
};

/* The first n characters of the text. False: no pattern, or too long. */
bool glob_split(const char *pattern, size_t n, struct glob *out);
/* Compares the path, and its last part. */
bool glob_fits_file(const struct glob *g, const char *path);

#endif
