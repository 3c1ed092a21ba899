/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/answer: one file's answers: its tables and DWARF put together into the symbols of an
 * address. This is the code that reads what others wrote, so it runs in the worker only.
 */
#ifndef ALYS_DWARF_ANSWER_H
#define ALYS_DWARF_ANSWER_H

#include "catalog/catalog.h"
#include "dwarf/depth.h"
#include "dwarf/source.h"
#include "dwarf/want.h"

struct answerer;

/* Borrows fd. more: where to ask for separate debug files, or NULL. */
struct answerer *answerer_new(int fd, enum symbol_depth depth, bool raw_names, const struct want_source *more, struct err *err);
void answerer_free(struct answerer *a);
/* Whether there is debug information, but more of it than the worker may hold. */
bool answerer_too_large(const struct answerer *a);
/* Symbols of pc, innermost first; how many, or -ENOMEM. Texts are borrowed from the answerer. */
int answerer_find(struct answerer *a, uint64_t pc, struct symbol out[SOURCE_DEPTH]);

#endif
