/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/funcs: the functions that an ELF file defines, by name and by address. Names are borrowed
 * from the elf, so a table lives no longer than it.
 */
#ifndef ALYS_CODE_FUNCS_H
#define ALYS_CODE_FUNCS_H

#include "elf/elf.h"

struct func {
	const char *name;
	uint64_t vaddr, size; /* size 0 = not known */
	bool indirect;        /* IFUNC: vaddr is its resolver */
};

struct funcs {
	const struct elf *elf;
	struct func *list; /* by address */
	size_t list_cnt, list_cap;
	struct func *names; /* the same, by name */
	bool imports_malloc;
	uint64_t gc_no_vaddr;    /* the variable GC_gc_no, 0 = none */
	uint64_t gc_extra_vaddr; /* GC_all_interior_pointers: bytes added to each request; 0 = none */
};

int funcs_load(struct funcs *f, const struct elf *e, struct err *err);
void funcs_free(struct funcs *f);
const struct func *funcs_named(const struct funcs *f, const char *name);
/* The function that contains vaddr; NULL if no sized symbol covers it. */
const struct func *funcs_at(const struct funcs *f, uint64_t vaddr);
/* The start of the next function or the end of the segment; at most max. */
uint64_t funcs_end(const struct funcs *f, uint64_t vaddr, uint64_t max);
/*
 * Destination of a jump or call to vaddr. Through the PLT: the function of that name in this file. *name: the target's
 * name if known, or NULL. False if it leaves the file or is an IFUNC.
 */
bool funcs_follow(const struct funcs *f, uint64_t vaddr, uint64_t *to, const char **name);
/* The same for a jump or call at vaddr through a GOT slot (-fno-plt); *name NULL: not through a GOT slot. */
bool funcs_follow_slot(const struct funcs *f, uint64_t vaddr, uint64_t *to, const char **name);
bool funcs_is_code(const struct funcs *f, uint64_t vaddr);

#endif
