/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/fields: offsets of the fields of classes, from structures in a program's DWARF (Crystal: a build with
 * --debug). In: an open ELF file. Out: names, offsets, instance sizes. A small parser of its own: the file may be
 * hostile, and libdw is not confined here.
 *
 * Not supported: compressed sections, DWARF 64, 32-bit programs, split debug files (.dwo).
 */
#ifndef ALYS_HEAPGRAPH_FIELDS_H
#define ALYS_HEAPGRAPH_FIELDS_H

#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "elf/elf.h"

struct field {
	const char *name; /* without "@"; borrowed from the elf */
	uint32_t offset;  /* bytes from the object's start */
};

struct field_class {
	const char *name; /* as the compiler writes it: "Array(Foo)"; borrowed from the elf */
	uint64_t size;    /* of an instance, as requested by the program */
	size_t first;     /* index of its first field; by ascending offset */
	uint32_t cnt;
};

/* A zeroed struct is empty. The names live as long as the elf from which they were read. */
struct fields {
	struct field_class *classes;
	size_t classes_cnt, classes_cap;
	struct field *all;
	size_t all_cnt, all_cap;
	struct map by_name; /* hash of the name -> index in classes + 1 */
};

/* 0 (also for a damaged file: what was read before stays), or -ENODATA: no structures, -ENOMEM. */
int fields_read(struct fields *f, const struct elf *e);
/*
 * Adds a class whose fields are the last cnt of f->all, from first on; sorts them. An existing class of that name is
 * kept unless this one has more fields. -ENOMEM.
 */
int fields_add(struct fields *f, const struct field_class *c);
void fields_free(struct fields *f);
/* NULL: no such class. */
const struct field_class *fields_class(const struct fields *f, const char *name);
/* The field that contains the byte at offset; *within is the offset in it. NULL: none. */
const struct field *fields_at(const struct fields *f, const struct field_class *c, uint64_t offset, uint64_t *within);

#endif
