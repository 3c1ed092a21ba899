/* session/variables: see variables.h. */
#include "session/variables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Of GC_arrays in front of its index of blocks, where no symbol says how long it is (8.2, x86-64). */
#define ARRAYS_BEFORE_INDEX 0x28a00
#define INDEX_SZ 0x4000
/*
 * Linked into a program, the collector's parts lie side by side: what is between two of its variables is one, too,
 * under a name of no prefix (first_thread, which holds the first thread's free lists) or of none.
 */
#define BETWEEN_MAX (64u << 10)

struct found {
	struct root_exclude *list;
	size_t list_cnt, list_cap;
};

static int note_variable(void *ctx, const struct elf_symbol *s)
{
	struct found *f = ctx;
	if (!s->defined || !s->size || s->type != STT_OBJECT || strncmp(s->name, "GC_", 3))
		return 0;
	struct root_exclude *slot = VEC_PUSH(f, list);
	if (slot)
		*slot = (struct root_exclude){ s->vaddr, s->vaddr + s->size };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct root_exclude *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t of_program(const struct collector *c, struct root_exclude *out)
{
	struct found f = { 0 };
	size_t n = 0;
	elf_each_symbol(c->elf, note_variable, &f);
	if (f.list_cnt)
		qsort(f.list, f.list_cnt, sizeof(*f.list), by_start);
	for (size_t i = 0; i < f.list_cnt; i++) {
		uint64_t start = c->bias + f.list[i].start, end = c->bias + f.list[i].end;
		bool joins = n && start <= out[n - 1].end + BETWEEN_MAX;
		if (!joins && n == OWN_VARIABLES_MAX)
			break;
		if (!joins)
			out[n++] = (struct root_exclude){ start, end };
		else if (end > out[n - 1].end)
			out[n - 1].end = end;
	}
	free(f.list);
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
	out->variables_cnt = library ? of_library(c, r->path, out->variables) : of_program(c, out->variables);
	out->code = code_of(c);
}
