/* SPDX-License-Identifier: Apache-2.0 */
/* collector/variables: see variables.h. */
#include "collector/variables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Of GC_arrays in front of its index of blocks, where no symbol says how long it is (8.2, x86-64). */
#define ARRAYS_BEFORE_INDEX 0x28a00
#define INDEX_SZ 0x4000
#define PADDING_MAX 64

/* Linked into a program, the collector's variables lie beside the program's. */
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

/* Those named GC_..., and with such a one in their source file those of other names: first_thread, whose free lists these are. */
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

/* A file's local symbols stand behind its name; what was hidden in other files behind an empty one; then come the global ones. */
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

/* Its data, and what goes on behind it in memory of no file. */
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
