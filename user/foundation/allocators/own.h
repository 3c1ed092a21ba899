/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocators/own: functions that a user names as allocators (--alloc, --realloc, --free): rows beside those of the table,
 * chosen by patterns (globs/glob.h), with numbers behind those of the table.
 *
 *   [FILE:]NAME(KEY=N[,KEY=N...])      N: which argument, from 1
 *
 * The rows are those of the whole process, and of the processes that examine files for it.
 */
#ifndef ALYS_ALLOCATORS_OWN_H
#define ALYS_ALLOCATORS_OWN_H

#include <stdbool.h>

#include "allocators/allocators.h"
#include "base/err.h"

#define OWN_MAX 32
#define OWN_TEXT_MAX 4096

enum own_kind { OWN_ALLOC, OWN_REALLOC, OWN_FREE, OWN_KINDS };

struct own_functions {
	uint32_t beside;         /* 1: what they call counts, too, see --nested */
	char text[OWN_TEXT_MAX]; /* "KIND SPEC" lines, in order; "" = none */
};

/* The option's name without dashes. */
extern const char *const own_kinds[OWN_KINDS];

/* Appends what the user gave to --KIND; -EINVAL: not of this form; -E2BIG: too many, or too long. */
int own_add(struct own_functions *f, enum own_kind kind, const char *spec, struct err *err);
/* These are the rows from now on. Lines of another form are left out. Call before files are examined. */
void own_use(const struct own_functions *f);
const struct own_functions *own_used(void);

size_t own_cnt(void);
/* Of row i: "--alloc SPEC", as the user gave it. */
void own_option(size_t i, struct buf *out);
/* The rows' patterns, one a line, in their order. */
const char *own_patterns(void);
/* NULL: no such row. */
const struct allocator *own_row(size_t i);
/* By number: those of the table come first. NULL: no such row. */
const struct allocator *allocator_at(size_t no);
/* Is a stack frame such a function? By its name as it is shown. */
bool own_has_frame(const struct alloc_frame *f);

#endif
