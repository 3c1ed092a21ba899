/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions/patterns: several patterns of globs/glob.h, and the functions of a file that match them.
 */
#ifndef ALYS_FUNCTIONS_PATTERNS_H
#define ALYS_FUNCTIONS_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "globs/glob.h"

#define PATTERNS_MAX 64        /* of one recording */
#define PATTERNS_TEXT_MAX 4096 /* all of them, one a line, with NUL */

/* 0 or -EINVAL. */
int pattern_check(const char *pattern, struct err *err);
/* May some of the text's patterns apply to the file? Judged by FILE: alone. */
bool patterns_concern(const char *text, const char *path);

struct patterns {
	struct glob at[PATTERNS_MAX];
	uint32_t index[PATTERNS_MAX]; /* in the text */
	size_t n;
	struct buf shown; /* of the name matched last */
};

/* Those that may apply to the file; NULL: out of memory. */
struct patterns *patterns_of(const char *text, const char *path);
/*
 * Which of the text's patterns match, as bits: by the symbol, by the name as it is shown, or by that without its
 * parameters, of C without the mark of a copy (.isra.0). The shown name is in p->shown then.
 */
uint64_t patterns_match(struct patterns *p, const char *symbol);
/* The same for a function's name in DWARF. Crystal's has no type: there, methods match whatever their type. */
uint64_t patterns_match_inlined(struct patterns *p, const char *name);
void patterns_free(struct patterns *p);

#endif
