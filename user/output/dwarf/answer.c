/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/answer: see answer.h. */
#include "dwarf/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "dwarf/debug.h"
#include "dwarf/demangle.h"
#include "dwarf/packed.h"
#include "dwarf/symtab.h"

struct answerer {
	struct elf *own, *packed, *separate; /* the latter two provide names missing in the first; may be NULL */
	struct symtab symtab;                /* of all three files */
	struct debug debug;
	struct source *source; /* NULL: symbol tables only */
	bool raw_names, too_large;
	struct map names; /* address of a raw name -> displayed name */
};

/* Failure only lowers the quality of answers. */
static void open_debug(struct answerer *a, int fd, const struct want_source *more)
{
	int rc = debug_open(&a->debug, fd, a->own, more);
	a->too_large = rc == -E2BIG;
	if (!rc)
		a->source = source_new(a->debug.own.dwarf, a->own);
	if (a->debug.own.fd >= 0)
		a->separate = elf_open(a->debug.own.fd, "debug file", NULL);
}

static int open_all(struct answerer *a, int fd, enum symbol_depth depth, const struct want_source *more, struct err *err)
{
	a->own = elf_open(fd, "file", err);
	if (!a->own)
		return -ENOEXEC;
	a->packed = packed_open(a->own);
	if (depth == SYMBOL_DEPTH_FULL)
		open_debug(a, fd, more);
	int rc = symtab_read(&a->symtab, a->own, (const struct elf *const[]){ a->packed, a->separate }, 2);
	return rc ? err_set(err, -rc, "symbol tables: %s", strerror(-rc)) : 0;
}

struct answerer *answerer_new(int fd, enum symbol_depth depth, bool raw_names, const struct want_source *more, struct err *err)
{
	struct answerer *a = calloc(1, sizeof(*a));
	if (!a) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	a->raw_names = raw_names;
	a->debug.own.fd = a->debug.shared.fd = -1;
	if (!open_all(a, fd, depth, more, err))
		return a;
	answerer_free(a);
	return NULL;
}

void answerer_free(struct answerer *a)
{
	const struct map_slot *s;
	if (!a)
		return;
	for (size_t i = 0; (s = map_next(&a->names, &i));)
		free((void *)(uintptr_t)s->value);
	map_free(&a->names);
	source_free(a->source);
	symtab_free(&a->symtab);
	elf_close(a->separate);
	elf_close(a->packed);
	elf_close(a->own);
	debug_close(&a->debug);
	free(a);
}

bool answerer_too_large(const struct answerer *a)
{
	return a->too_large;
}

/* Raw names point into the files, so their address identifies them. */
static const char *shown(struct answerer *a, const char *raw, bool crystal_short)
{
	if (a->raw_names)
		return raw;
	uint64_t *slot = map_put(&a->names, (uint64_t)(uintptr_t)raw);
	if (slot && !*slot) {
		struct buf name = { 0 };
		if (crystal_short)
			demangle_crystal_short(&name, raw);
		else
			demangle(&name, raw);
		*slot = (uint64_t)(uintptr_t)strdup(buf_str(&name));
		buf_free(&name);
	}
	return slot && *slot ? (const char *)(uintptr_t)*slot : NULL;
}

/* foo.cold and foo.constprop.0 are parts or copies of foo. */
static bool is_clone_of(const char *symbol, const char *name)
{
	size_t n = name ? strlen(name) : 0;
	return n && !strncmp(symbol, name, n) && symbol[n] == '.';
}

/*
 * The function as the linker sees it. The symbol is preferred, because Crystal's DWARF has only "push" where the symbol
 * has the class, too; not if DWARF has a mangled name, or the symbol is a clone.
 */
static const char *physical_name(struct answerer *a, const struct place *p, const char *symbol)
{
	const char *raw = p->linkage && is_mangled(p->linkage) ? p->linkage : symbol;
	if (!raw || is_clone_of(raw, p->name))
		raw = p->name ? p->name : p->linkage;
	return raw ? shown(a, raw, false) : NULL;
}

static bool is_crystal(const char *file)
{
	size_t n = file ? strlen(file) : 0;
	return n > 3 && !strcmp(file + n - 3, ".cr");
}

static const char *inlined_name(struct answerer *a, const struct place *p)
{
	const char *raw = p->linkage ? p->linkage : p->name;
	bool brief = raw && is_crystal(p->file) && *raw != '*' && *raw != '~';
	return raw ? shown(a, raw, brief) : NULL;
}

static int answer_from_source(struct answerer *a, uint64_t pc, const char *symbol, struct symbol out[SOURCE_DEPTH])
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

/*
 * Return addresses set up by libc that no call left there. The address before belongs to another function, and stripped
 * libraries lack the symbol.
 */
static const char *synthetic_return_name(struct answerer *a, uint64_t pc)
{
	static const struct {
		const char *name, *code;
		size_t n;
	} known[] = {
		/* mov $15,%rax (rt_sigreturn); syscall */
		{ "__restore_rt", "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9 },
		{ "__restore_rt", "\xb8\x0f\0\0\0\x0f\x05", 7 },
		/* mov %rbx,%rsp; mov (%rsp),%rdi: return address of makecontext's functions */
		{ "__start_context", "\x48\x89\xdc\x48\x8b\x3c\x24", 7 },
	};
	if (symtab_inside(&a->symtab, pc))
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const uint8_t *p = elf_bytes(a->own, pc + 1, known[i].n);
		if (p && !memcmp(p, known[i].code, known[i].n))
			return known[i].name;
	}
	return NULL;
}

int answerer_find(struct answerer *a, uint64_t pc, struct symbol out[SOURCE_DEPTH])
{
	const char *name = synthetic_return_name(a, pc);
	if (name) {
		out[0] = (struct symbol){ .name = name, .quality = SYMBOL_TABLE };
		return 1;
	}
	const char *symbol = symtab_find(&a->symtab, pc);
	int n = a->source ? answer_from_source(a, pc, symbol, out) : 0;
	/* Padding between functions has lines but no name. */
	if (n > 1 || n < 0 || (n && out[0].name))
		return n;
	out[0] = (struct symbol){
		.name = symbol ? shown(a, symbol, false) : NULL,
		.quality = symbol ? SYMBOL_TABLE : SYMBOL_MODULE,
	};
	return 1;
}
