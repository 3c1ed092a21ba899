/* SPDX-License-Identifier: Apache-2.0 */
/* collector/variables: see variables.h. */
#include "collector/variables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Size of GC_arrays in front of its block index, for programs without symbols (8.2, x86-64). */
#define ARRAYS_BEFORE_INDEX 0x28a00
#define INDEX_SZ 0x4000
#define PADDING_MAX 64

/* A collector that is linked into the program has its variables among the program's. */
struct found {
	struct root_exclude *list;
	size_t list_cnt, list_cap;
	const uint8_t *symbols, *names;
	size_t symbols_cnt, names_sz;
};

static Elf64_Sym symbol_at(const struct found *f, size_t i)
{
	Elf64_Sym s;
	memcpy(&s, f->symbols + i * sizeof(s), sizeof(s));
	return s;
}

static bool begins(const struct found *f, const Elf64_Sym *s, const char *text)
{
	size_t n = strlen(text) ?: 1;
	return s->st_name < f->names_sz && f->names_sz - s->st_name >= n && !memcmp(f->names + s->st_name, text, n);
}

/* Variables named GC_..., and static ones without the prefix (first_thread) if the same source file has a GC_... one. */
static void note_file(struct found *f, size_t from, size_t to, bool together)
{
	bool own = false;
	for (size_t i = from; i < to && together && !own; i++) {
		Elf64_Sym s = symbol_at(f, i);
		own = begins(f, &s, "GC_");
	}
	for (size_t i = from; i < to; i++) {
		Elf64_Sym s = symbol_at(f, i);
		bool variable = ELF64_ST_TYPE(s.st_info) == STT_OBJECT && s.st_shndx != SHN_UNDEF && s.st_size;
		struct root_exclude *slot = variable && (own || begins(f, &s, "GC_")) ? VEC_PUSH(f, list) : NULL;
		if (slot)
			*slot = (struct root_exclude){ s.st_value, s.st_value + s.st_size };
	}
}

/*
 * In .symtab, the local symbols of a source file follow its name; symbols that were made local at linking follow an
 * empty file name; global ones come last.
 */
static void note_variables(struct found *f, const struct elf *e)
{
	size_t size = 0, from = 0;
	bool together = false;
	f->symbols = elf_section(e, ".symtab", &size, NULL);
	f->names = elf_section(e, ".strtab", &f->names_sz, NULL);
	f->symbols_cnt = f->symbols && f->names ? size / sizeof(Elf64_Sym) : 0;
	for (size_t i = 0; i < f->symbols_cnt; i++) {
		Elf64_Sym s = symbol_at(f, i);
		bool file = ELF64_ST_TYPE(s.st_info) == STT_FILE;
		if (!file && (!together || ELF64_ST_BIND(s.st_info) == STB_LOCAL))
			continue;
		note_file(f, from, i, together);
		from = i;
		together = file && !begins(f, &s, "");
	}
	note_file(f, from, f->symbols_cnt, together);
}

static int by_start(const void *a, const void *b)
{
	const struct root_exclude *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t of_program(const struct collector *c, struct root_exclude *out, bool *nameless)
{
	struct found f = { 0 };
	size_t n = 0;
	note_variables(&f, c->elf);
	if (f.list_cnt)
		qsort(f.list, f.list_cnt, sizeof(*f.list), by_start);
	for (size_t i = 0; i < f.list_cnt; i++) {
		uint64_t start = c->bias + f.list[i].start, end = c->bias + f.list[i].end;
		bool joins = n && start <= out[n - 1].end + PADDING_MAX;
		if (!joins && n == OWN_VARIABLES_MAX)
			break;
		if (!joins)
			out[n++] = (struct root_exclude){ start, end };
		else if (end > out[n - 1].end)
			out[n - 1].end = end;
	}
	free(f.list);
	*nameless = !n;
	if (!n)
		out[n++] = (struct root_exclude){ c->layout.top_index - ARRAYS_BEFORE_INDEX, c->layout.top_index + INDEX_SZ };
	return n;
}

/* Its data mapping and the anonymous mapping that continues it (.bss). */
static size_t of_library(const struct collector *c, const char *path, struct root_exclude *out)
{
	uint64_t end = 0;
	size_t n = 0;
	for (size_t i = 0; i < c->space.regions_cnt && n < OWN_VARIABLES_MAX; i++) {
		const struct space_region *r = &c->space.regions[i];
		if (!r->writable || (strcmp(r->path, path) && (*r->path || r->start != end)))
			continue;
		out[n++] = (struct root_exclude){ r->start, r->end };
		end = r->end;
	}
	return n;
}

static struct root_exclude code_of(const struct collector *c)
{
	for (size_t i = 0; i < c->space.regions_cnt; i++) {
		const struct space_region *r = &c->space.regions[i];
		if (r->exec && r->dev == c->dev && r->ino == c->ino)
			return (struct root_exclude){ r->start, r->end };
	}
	return (struct root_exclude){ 0, 0 };
}

void variables_of(const struct collector *c, struct own_places *out)
{
	const struct elf_segment *segments;
	bool any = elf_segments(c->elf, &segments) != 0;
	const struct space_region *r = any ? space_find(&c->space, c->bias + segments[0].vaddr) : NULL;
	bool library = r && *r->path && strcmp(r->path, c->exe);
	out->nameless = false;
	out->variables_cnt = library ? of_library(c, r->path, out->variables) : of_program(c, out->variables, &out->nameless);
	out->code = code_of(c);
}
