/* SPDX-License-Identifier: Apache-2.0 */
/* functions/inlined_copies: see inlined_copies.h. */
#include "functions/inlined_copies.h"

#include <dwarf.h>

#include "dwarf/debug.h"

#define BLOCKS_MAX 256 /* nested blocks; files may be hostile */

struct search {
	int (*copy)(void *ctx, const char *name);
	void *ctx;
};

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute a;
	const char *name = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++)
		name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &a));
	return name;
}

/* An abstract function has no code: copies within it are none, and appear again wherever it has been put. */
static bool may_contain_code(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram: return !dwarf_hasattr(die, DW_AT_inline);
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block: return true;
	default: return false;
	}
}

static int search_in(const struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int rc = 0;
	if (depth == BLOCKS_MAX || dwarf_child(parent, &die))
		return 0;
	do {
		const char *name = dwarf_tag(&die) == DW_TAG_inlined_subroutine ? name_of(&die) : NULL;
		rc = name ? s->copy(s->ctx, name) : 0;
		if (!rc && may_contain_code(&die))
			rc = search_in(s, &die, depth + 1);
	} while (!rc && !dwarf_siblingof(&die, &die));
	return rc;
}

int inlined_copies(int fd, const struct elf *e, int (*copy)(void *ctx, const char *name), void *ctx)
{
	const struct search s = { copy, ctx };
	struct debug d = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	int rc = 0;
	if (debug_open(&d, fd, e, NULL))
		return 0;
	while (!rc && !dwarf_get_units(d.own.dwarf, cu, &cu, NULL, NULL, &unit, NULL))
		rc = search_in(&s, &unit, 0);
	debug_close(&d);
	return rc;
}
