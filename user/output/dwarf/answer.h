/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/answer: combines one file's symbol tables and DWARF into the symbols of an address. It parses untrusted files,
 * so it runs in the worker only.
 */
#ifndef ALYS_DWARF_ANSWER_H
#define ALYS_DWARF_ANSWER_H

#include "catalog/catalog.h"
#include "dwarf/depth.h"
#include "dwarf/source_lines.h"
#include "dwarf/want.h"

struct answerer;

/* Borrows fd. more: how to request separate debug files, or NULL. */
struct answerer *answerer_new(int fd, enum symbol_depth depth, bool raw_names, const struct want_source *more, struct err *err);
void answerer_free(struct answerer *a);
/* There is debug information, but more than the worker may load. */
bool answerer_too_large(const struct answerer *a);
/* Symbols of pc, innermost first; returns their number, or -ENOMEM. Texts are borrowed. */
int answerer_find(struct answerer *a, uint64_t pc, struct symbol out[SOURCE_DEPTH]);

#endif
