/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/fields: which field of a class lies where, from the structures in a program's own DWARF
 * (Crystal: a build with --debug). In: an opened ELF file. Out: names, offsets, sizes of instances.
 * Reads only what it needs, itself: the file may be hostile, and libdw is not confined here.
 *
 * Not covered: compressed sections, DWARF 64, 32-bit programs, debug files split off (.dwo).
 */
#ifndef ALYS_HEAPGRAPH_FIELDS_H
#define ALYS_HEAPGRAPH_FIELDS_H

#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "elf/elf.h"

struct field {
	const char *name; /* without "@"; borrowed from the elf */
	uint32_t offset;  /* bytes from the object's begin */
};

struct field_class {
	const char *name; /* as the compiler writes it: "Array(Foo)"; borrowed from the elf */
	uint64_t size;    /* of an instance, as the program asks for it */
	size_t first;     /* of its fields, by ascending offset */
	uint32_t cnt;
};

/* A zeroed struct knows no class. The names live as long as the elf that they were read from. */
struct fields {
	struct field_class *classes;
	size_t classes_cnt, classes_cap;
	struct field *all;
	size_t all_cnt, all_cap;
	struct map by_name; /* hash of the name -> place in classes + 1 */
};

/* 0 (also when the file is damaged: what was read before stays), or -ENODATA: no structures, -ENOMEM. */
int fields_read(struct fields *f, const struct elf *e);
/*
 * Takes a class whose fields are the last cnt of f->all, from first on; they get sorted. A class of that
 * name that is there already stays unless this one has more fields. -ENOMEM.
 */
int fields_add(struct fields *f, const struct field_class *c);
void fields_free(struct fields *f);
/* NULL: no class of that name. */
const struct field_class *fields_class(const struct fields *f, const char *name);
/* The field that holds the byte at offset; *within is the offset in it. NULL: none. */
const struct field *fields_at(const struct fields *f, const struct field_class *c, uint64_t offset, uint64_t *within);

#endif
