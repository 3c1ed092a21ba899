/* symbol/answer: see answer.h. */
#include "symbol/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

struct answerer *answerer_new(int fd, const char *path, struct err *err)
{
	struct answerer *a = calloc(1, sizeof(*a));
	int rc = -ENOMEM;
	if (a) {
		a->debug.fd = -1;
		a->fd = fd;
		a->path = strdup(path);
		a->elf = a->path ? elf_open(fd, path, err) : NULL;
		if (a->path && !a->elf) {
			answerer_free(a);
			return NULL;
		}
	}
	if (a && a->elf)
		rc = symtab_read(&a->symtab, a->elf);
	if (!rc)
		return a;
	answerer_free(a);
	err_set(err, -rc, "%s: symbols: %s", path, strerror(-rc));
	return NULL;
}

static void forget_names(struct answerer *a)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(&a->names, &i));)
		free((void *)(uintptr_t)s->value);
	map_free(&a->names);
}

void answerer_drop_debug(struct answerer *a)
{
	forget_names(a);
	source_free(a->source);
	a->source = NULL;
	debug_close(&a->debug);
	a->debug_tried = false;
}

void answerer_free(struct answerer *a)
{
	if (!a)
		return;
	answerer_drop_debug(a);
	symtab_free(&a->symtab);
	elf_close(a->elf);
	free(a->path);
	free(a);
}

uint64_t answerer_debug_bytes(const struct answerer *a)
{
	return a->debug.bytes;
}

/* Failing means answers of lower quality, so nothing is reported. */
static void open_debug(struct answerer *a)
{
	a->debug_tried = true;
	if (!debug_open(&a->debug, a->fd, a->path, a->elf))
		a->source = source_new(a->debug.dwarf, a->elf);
}

/* Raw names are borrowed from the files, so their place in memory stands for them. */
static const char *shown(struct answerer *a, const char *raw)
{
	uint64_t *slot = map_put(&a->names, (uint64_t)(uintptr_t)raw);
	if (slot && !*slot) {
		struct buf name = { 0 };
		demangle(&name, raw);
		*slot = (uint64_t)(uintptr_t)strdup(buf_str(&name));
		buf_free(&name);
	}
	return slot && *slot ? (const char *)(uintptr_t)*slot : NULL;
}

/* foo.cold and foo.constprop.0 are parts and copies of foo. */
static bool is_clone_of(const char *symbol, const char *name)
{
	size_t n = name ? strlen(name) : 0;
	return n && !strncmp(symbol, name, n) && symbol[n] == '.';
}

/*
 * The function that stands in the file: Crystal's DWARF says "push" where its symbol says whose, so
 * the symbol comes first, unless DWARF has a mangled name or the symbol is a clone.
 */
static const char *physical_name(struct answerer *a, const struct place *p, const char *symbol)
{
	const char *raw = p->linkage && is_mangled(p->linkage) ? p->linkage : symbol;
	if (!raw || is_clone_of(raw, p->name))
		raw = p->name ? p->name : p->linkage;
	return raw ? shown(a, raw) : NULL;
}

static const char *inlined_name(struct answerer *a, const struct place *p)
{
	const char *raw = p->linkage ? p->linkage : p->name;
	return raw ? shown(a, raw) : NULL;
}

static int answer_from_source(struct answerer *a, uint64_t pc, const char *symbol,
			      struct symbol out[SOURCE_DEPTH])
{
	struct place places[SOURCE_DEPTH];
	int n = source_find(a->source, pc, places);
	for (int i = 0; i < n; i++) {
		const struct place *p = &places[i];
		bool inlined = i + 1 < n;
		out[i] = (struct symbol){
			.name = inlined ? inlined_name(a, p) : physical_name(a, p, symbol),
			.file = p->file,
			.line = p->line,
			.column = p->column,
			.quality = SYMBOL_EXACT,
			.inlined = inlined,
		};
	}
	return n;
}

int answerer_find(struct answerer *a, enum symbol_depth depth, uint64_t pc,
		  struct symbol out[SOURCE_DEPTH])
{
	const char *symbol = symtab_find(&a->symtab, pc);
	int n = 0;
	if (depth == SYMBOL_DEPTH_FULL && !a->debug_tried)
		open_debug(a);
	if (depth == SYMBOL_DEPTH_FULL && a->source)
		n = answer_from_source(a, pc, symbol, out);
	/* Between functions there are lines too, of the padding. */
	if (n > 1 || n < 0 || (n && out[0].name))
		return n;
	out[0] = (struct symbol){
		.name = symbol ? shown(a, symbol) : NULL,
		.quality = symbol ? SYMBOL_TABLE : SYMBOL_MODULE,
	};
	return 1;
}
