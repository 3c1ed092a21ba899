/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/types: Crystal's type ids, their names, and the source of each name. The compiler numbers the types of a
 * program; every instance of a class stores the number in its first four bytes.
 */
#ifndef ALYS_HEAPGRAPH_TYPES_H
#define ALYS_HEAPGRAPH_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "boehm/memory.h"
#include "boehm/strings.h"
#include "elf/elf.h"

/*
 * Can cells of these sizes hold instances of one class? Sizes may differ: the collector rounds requests up to sizes
 * that it determines at run time, so early instances may have larger cells than later ones (176 and 160 bytes for 153).
 */
static inline bool types_cells_alike(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b, more = a < b ? b : a;
	return more - less <= less / 4 + 16;
}

enum type_known { /* a later source replaces an earlier one */
		  TYPE_UNKNOWN,
		  TYPE_LEARNED,       /* most objects with this id were allocated by that type's `new` */
		  TYPE_FROM_SYMBOLS,  /* `Foo:type_id` in the program's symbol table */
		  TYPE_FROM_COMPILER, /* the compiler's own list */
		  TYPE_ALWAYS,        /* the same in all programs */
};

struct type_name {
	uint32_t id;
	enum type_known known;
	char *name; /* cleaned */
};

/* A zeroed struct does not even know String: types_begin. */
struct types {
	struct type_name *names;
	size_t names_cnt, names_cap;
	struct map by_id;       /* place in names */
	uint32_t reference_max; /* larger ids do not occur on the heap; 0 = unknown */
};

int types_begin(struct types *t);
void types_free(struct types *t);
/* Adds the name unless a better one is known. n bytes of name, copied. -ENOMEM. */
int types_put(struct types *t, uint32_t id, const char *name, size_t n, enum type_known known);
/* NULL: unknown. Borrowed until the next put. */
const struct type_name *types_get(const struct types *t, uint32_t id);
/* Ids of generic types without arguments, which have no instances: Array, if there is an Array(Int32). -ENOMEM. */
int types_generic(const struct types *t, struct map *out);
/* The name, or "(class 88)". */
void types_text(const struct types *t, uint32_t id, struct buf *out);
/*
 * Parses the output of the compiler with CRYSTAL_DUMP_TYPE_ID=1: `{min - max}: Type` lines, id = max; other lines are
 * ignored. 0, or -EBADMSG if there is no such line: file is for the message.
 */
int types_parse(struct types *t, const void *text, size_t n, const char *file, struct err *err);
/* Constants `Foo:type_id` among the program's symbols (Crystal from 1.16, not with --release). */
int types_read_symbols(struct types *t, struct memory *m, const struct elf *program, uint64_t bias);
/* Ids of a name: exact, or else as its last part ("Foo" of "Bar::Foo") -> count; out holds up to cap. */
size_t types_find(const struct types *t, const char *name, uint32_t *out, size_t cap);
/* "Foo, Food, Fob": the most similar known names; nothing if there are none. */
void types_nearest(const struct types *t, const char *name, struct buf *out);

#endif
