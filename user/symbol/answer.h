/*
 * symbol/answer: one file's answers: its tables and DWARF put together into the symbols of an
 * address. Opened when first asked; DWARF can be let go and is opened again when needed.
 */
#ifndef ALYS_SYMBOL_ANSWER_H
#define ALYS_SYMBOL_ANSWER_H

#include "base/map.h"
#include "catalog/catalog.h"
#include "symbol/debug.h"
#include "symbol/source.h"
#include "symbol/symbol.h"
#include "symbol/symtab.h"

struct answerer {
	int fd; /* borrowed */
	char *path;
	struct elf *elf;
	struct symtab symtab;
	bool debug_tried;
	struct debug debug;
	struct source *source;
	struct map names; /* place of a raw name -> the name to show */
};

struct answerer *answerer_new(int fd, const char *path, struct err *err);
void answerer_free(struct answerer *a);
/* Symbols of pc, innermost first; how many, or -ENOMEM. Texts are borrowed until the DWARF goes. */
int answerer_find(struct answerer *a, enum symbol_depth depth, uint64_t pc,
		  struct symbol out[SOURCE_DEPTH]);
uint64_t answerer_debug_bytes(const struct answerer *a);
void answerer_drop_debug(struct answerer *a);

#endif
