/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/source_lines: see source_lines.h. Three levels of flat ranges: units of the file, functions of a unit, inlined
 * calls of a function. Each level is read when an address first falls into it.
 */
#include "dwarf/source_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "dwarf/spans.h"

#define UNITS_MAX (1u << 20)
#define RANGES_MAX (1u << 16) /* per entry */
#define NO_PARENT UINT32_MAX

struct inlined {
	Dwarf_Die die;
	uint32_t parent; /* index, or NO_PARENT: directly in the function */
	struct place call;
};

struct function {
	Dwarf_Die die;
	bool ready;
	struct spans spans;
	struct inlined *nodes;
	size_t nodes_cnt, nodes_cap;
};

struct unit {
	Dwarf_Die die;
	bool ready;
	Dwarf_Files *files;
	size_t files_cnt;
	const char *dir; /* compilation directory, or NULL */
	struct spans spans;
	struct function *functions;
	size_t functions_cnt, functions_cap;
};

struct bytes {
	const char *at, *end;
};

struct source {
	const struct elf *elf;
	struct bytes trees[2]; /* .debug_info, .debug_types */
	struct spans spans;
	struct unit *units;
	size_t units_cnt, units_cap;
	struct map paths; /* address of a relative path's text -> the path with its unit's directory in front */
};

/*
 * Only ranges within code are accepted: functions dropped by the linker keep ranges at 0 or -1, which would hide real
 * ones.
 */
static int add_code(const struct source *s, struct spans *to, uint64_t low, uint64_t high, uint32_t item, uint32_t depth)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(s->elf, &seg);
	for (size_t i = 0; i < n; i++)
		if (seg[i].exec && low >= seg[i].vaddr && high > low && high - seg[i].vaddr <= seg[i].memsz)
			return spans_add(to, low, high, item, depth);
	return 0;
}

static int add_ranges(const struct source *s, struct spans *to, Dwarf_Die *die, uint32_t item, uint32_t depth)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int rc = 0;
	for (unsigned int i = 0; !rc && i < RANGES_MAX; i++) {
		at = dwarf_ranges(die, at, &base, &low, &high);
		if (at <= 0)
			break;
		rc = add_code(s, to, low, high, item, depth);
	}
	return rc;
}

/*
 * Entries must be visited in ascending order: in a damaged file, DW_AT_sibling may point backwards (endless loop), or
 * into a subtree already visited (exponential time).
 */
static bool visit(Dwarf_Off *last, const Dwarf_Die *die)
{
	Dwarf_Off here = dwarf_dieoffset((Dwarf_Die *)die);
	if (here == (Dwarf_Off)-1 || here <= *last)
		return false;
	*last = here;
	return true;
}

static bool first_child(Dwarf_Off *last, Dwarf_Die *parent, Dwarf_Die *die)
{
	return !dwarf_child(parent, die) && visit(last, die);
}

static bool next_sibling(Dwarf_Off *last, Dwarf_Die *die)
{
	Dwarf_Die next;
	if (dwarf_siblingof(die, &next) || !visit(last, &next))
		return false;
	*die = next;
	return true;
}

static void find_trees(struct source *s, Dwarf *dwarf)
{
	static const char *const names[] = { ".debug_info", ".debug_types" };
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *scn = NULL;
	size_t shstr;
	if (elf_getshdrstrndx(elf, &shstr))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, shstr, sh.sh_name) : NULL;
		for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++) {
			const Elf_Data *d = strcmp(name, names[i]) ? NULL : elf_rawdata(scn, NULL);
			if (d && d->d_buf)
				s->trees[i] = (struct bytes){ d->d_buf, (char *)d->d_buf + d->d_size };
		}
	}
}

/*
 * libdw returns strings within the tree in place, without checking that they end before the section does. (String
 * sections end with a zero: see debug.c.)
 */
static const char *ended(const struct source *s, const char *text)
{
	for (size_t i = 0; text && i < sizeof(s->trees) / sizeof(*s->trees); i++) {
		const struct bytes *b = &s->trees[i];
		if (text >= b->at && text < b->end)
			return memchr(text, 0, (size_t)(b->end - text)) ? text : NULL;
	}
	return text; /* from libdw, or from a string section */
}

static int add_unit(struct source *s, Dwarf_Die *die)
{
	size_t spans = s->spans.at_cnt;
	int rc = add_ranges(s, &s->spans, die, (uint32_t)s->units_cnt, 0);
	if (rc || s->spans.at_cnt == spans)
		return rc;
	struct unit *u = VEC_PUSH(s, units);
	if (!u)
		return -ENOMEM;
	u->die = *die;
	return 0;
}

struct source *source_new(Dwarf *dwarf, const struct elf *e)
{
	struct source *s = calloc(1, sizeof(*s));
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	int rc = s ? 0 : -ENOMEM;
	if (s) {
		s->elf = e;
		find_trees(s, dwarf);
	}
	while (!rc && s->units_cnt < UNITS_MAX && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL))
		if (dwarf_tag(&die) == DW_TAG_compile_unit || dwarf_tag(&die) == DW_TAG_skeleton_unit)
			rc = add_unit(s, &die);
	if (!rc)
		rc = spans_seal(&s->spans);
	if (!rc)
		return s;
	source_free(s);
	return NULL;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->units_cnt; i++) {
		struct unit *u = &s->units[i];
		for (size_t k = 0; k < u->functions_cnt; k++) {
			spans_free(&u->functions[k].spans);
			free(u->functions[k].nodes);
		}
		free(u->functions);
		spans_free(&u->spans);
	}
	const struct map_slot *path;
	for (size_t i = 0; (path = map_next(&s->paths, &i));)
		free((void *)(uintptr_t)path->value);
	map_free(&s->paths);
	free(s->units);
	spans_free(&s->spans);
	free(s);
}

static int add_function(const struct source *s, struct unit *u, Dwarf_Die *die, uint32_t depth)
{
	size_t spans = u->spans.at_cnt;
	int rc = add_ranges(s, &u->spans, die, (uint32_t)u->functions_cnt, depth);
	if (rc || u->spans.at_cnt == spans)
		return rc;
	struct function *f = VEC_PUSH(u, functions);
	if (!f)
		return -ENOMEM;
	f->die = *die;
	return 0;
}

/* Functions are children of the unit, or of entries that contain declarations. */
static int collect_functions(const struct source *s, struct unit *u, Dwarf_Die *parent, Dwarf_Off *last, uint32_t depth)
{
	Dwarf_Die die;
	int rc = 0;
	if (depth >= SOURCE_DEPTH || !first_child(last, parent, &die))
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram: rc = add_function(s, u, &die, depth); break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type: rc = collect_functions(s, u, &die, last, depth + 1); break;
		}
	} while (!rc && next_sibling(last, &die));
	return rc;
}

static int read_unit(const struct source *s, struct unit *u)
{
	Dwarf_Attribute attr;
	if (u->ready)
		return 0;
	u->ready = true;
	u->dir = dwarf_attr(&u->die, DW_AT_comp_dir, &attr) ? ended(s, dwarf_formstring(&attr)) : NULL;
	if (dwarf_getsrcfiles(&u->die, &u->files, &u->files_cnt))
		u->files_cnt = 0;
	Dwarf_Off last = 0;
	int rc = collect_functions(s, u, &u->die, &last, 0);
	return rc ? rc : spans_seal(&u->spans);
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const char *text_of(const struct source *s, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	return dwarf_attr_integrate(die, name, &attr) ? ended(s, dwarf_formstring(&attr)) : NULL;
}

static void take_names(const struct source *s, Dwarf_Die *die, struct place *p)
{
	p->linkage = text_of(s, die, DW_AT_linkage_name);
	if (!p->linkage)
		p->linkage = text_of(s, die, DW_AT_MIPS_linkage_name);
	p->name = text_of(s, die, DW_AT_name);
}

static char *join(const char *dir, const char *path)
{
	struct buf out = { 0 };
	while (!strncmp(path, "./", 2))
		path += 2;
	buf_adds(&out, dir);
	buf_adds(&out, "/");
	buf_adds(&out, path);
	char *joined = strdup(buf_str(&out));
	buf_free(&out);
	return joined;
}

/* NULL for placeholders instead of files: ??? (libdw), ./?? (Crystal), <artificial> (gcc). */
static const char *whole_path(struct source *s, const struct unit *u, const char *path)
{
	path = ended(s, path);
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *last = slash ? slash + 1 : path;
	if (!path || *last == '?' || *last == '<')
		return NULL;
	if (!u->dir || *path == '/')
		return path;
	uint64_t *slot = map_put(&s->paths, (uint64_t)(uintptr_t)path);
	if (slot && !*slot)
		*slot = (uint64_t)(uintptr_t)join(u->dir, path);
	return slot && *slot ? (const char *)(uintptr_t)*slot : path;
}

static int add_inlined(struct source *s, const struct unit *u, struct function *f, Dwarf_Die *die, uint32_t parent,
		       uint32_t depth)
{
	uint32_t item = (uint32_t)f->nodes_cnt, file = number_of(die, DW_AT_call_file);
	struct inlined *n = VEC_PUSH(f, nodes);
	if (!n)
		return -ENOMEM;
	n->die = *die;
	n->parent = parent;
	if (file < u->files_cnt)
		n->call.file = whole_path(s, u, dwarf_filesrc(u->files, file, NULL, NULL));
	n->call.line = number_of(die, DW_AT_call_line);
	n->call.column = number_of(die, DW_AT_call_column);
	return add_ranges(s, &f->spans, die, item, depth);
}

/* State of the walk over calls inlined into one function. */
struct inlining {
	struct source *source;
	const struct unit *unit;
	struct function *function;
	Dwarf_Off last; /* offset of the last entry; a damaged file may point backwards */
};

static int collect_inlined(struct inlining *w, Dwarf_Die *at, uint32_t parent, uint32_t depth)
{
	struct function *f = w->function;
	Dwarf_Die die;
	int rc = 0;
	if (depth >= SOURCE_DEPTH - 1 || !first_child(&w->last, at, &die))
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			rc = add_inlined(w->source, w->unit, f, &die, parent, depth);
			if (!rc)
				rc = collect_inlined(w, &die, (uint32_t)f->nodes_cnt - 1, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block: rc = collect_inlined(w, &die, parent, depth + 1); break;
		}
	} while (!rc && next_sibling(&w->last, &die));
	return rc;
}

static int read_function(struct source *s, const struct unit *u, struct function *f)
{
	if (f->ready)
		return 0;
	f->ready = true;
	struct inlining w = { .source = s, .unit = u, .function = f };
	int rc = collect_inlined(&w, &f->die, NO_PARENT, 0);
	return rc ? rc : spans_seal(&f->spans);
}

static void take_line(struct source *s, struct unit *u, uint64_t pc, struct place *p)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, pc);
	int n;
	if (!line)
		return;
	p->file = whole_path(s, u, dwarf_linesrc(line, NULL, NULL));
	p->line = !dwarf_lineno(line, &n) && n > 0 ? (uint32_t)n : 0;
	p->column = !dwarf_linecol(line, &n) && n > 0 ? (uint32_t)n : 0;
}

/* From the innermost call outwards. A frame's line is the call site stored with the frame inside it. */
static int unroll(const struct source *s, struct function *f, uint64_t pc, struct place out[SOURCE_DEPTH])
{
	uint32_t at = spans_find(&f->spans, pc);
	int n = 0;
	while (at < f->nodes_cnt && n < SOURCE_DEPTH - 1) {
		struct inlined *node = &f->nodes[at];
		take_names(s, &node->die, &out[n++]);
		out[n] = node->call;
		at = node->parent;
	}
	take_names(s, &f->die, &out[n]);
	return n + 1;
}

int source_find(struct source *s, uint64_t pc, struct place out[SOURCE_DEPTH])
{
	uint32_t at = spans_find(&s->spans, pc);
	if (at >= s->units_cnt)
		return 0;
	struct unit *u = &s->units[at];
	int rc = read_unit(s, u);
	if (rc)
		return rc;
	out[0] = (struct place){ 0 };
	take_line(s, u, pc, &out[0]);
	at = spans_find(&u->spans, pc);
	if (at >= u->functions_cnt)
		return out[0].file != NULL;
	struct function *f = &u->functions[at];
	rc = read_function(s, u, f);
	return rc ? rc : unroll(s, f, pc, out);
}
