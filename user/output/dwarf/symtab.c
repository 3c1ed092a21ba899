/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/symtab: see symtab.h. */
#include "dwarf/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define SYMBOLS_MAX (1u << 22)

struct entry {
	struct elf_symbol sym;
	uint64_t limit; /* end of its segment */
};

struct reading {
	const struct elf *code; /* executable segments, to which symbols must belong */
	struct entry *entries;
	size_t entries_cnt, entries_cap;
};

/* End of the executable segment that holds vaddr, 0: none. */
static uint64_t code_end(const struct elf *e, uint64_t vaddr)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg);
	for (size_t i = 0; i < n; i++)
		if (seg[i].exec && vaddr >= seg[i].vaddr && vaddr - seg[i].vaddr < seg[i].memsz)
			return seg[i].vaddr + seg[i].memsz;
	return 0;
}

/* On aarch64: $x and $d, also with a suffix, tell code from data (AAELF64, "Mapping symbols"), and name nothing. */
static bool maps_only(const struct elf_symbol *s)
{
	const char *n = s->name;
	return s->type == STT_NOTYPE && n[0] == '$' && (n[1] == 'x' || n[1] == 'd') && (!n[2] || n[2] == '.');
}

static int take(void *ctx, const struct elf_symbol *s)
{
	struct reading *r = ctx;
	bool code = s->type == STT_FUNC || s->type == STT_GNU_IFUNC || (s->type == STT_NOTYPE && !maps_only(s));
	uint64_t limit = s->defined && code ? code_end(r->code, s->vaddr) : 0;
	if (!limit || r->entries_cnt >= SYMBOLS_MAX)
		return 0;
	struct entry *new = VEC_PUSH(r, entries);
	if (!new)
		return -ENOMEM;
	*new = (struct entry){ *s, limit };
	return 0;
}

static unsigned int underscores(const char *name)
{
	return (unsigned int)strspn(name, "_");
}

/*
 * Of several names at an address, the best one sorts last: functions after labels, .symtab after .dynsym (where the
 * linker damages Crystal's names), and names with fewer underscores: malloc after __libc_malloc.
 */
static int by_place(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	if (a->sym.vaddr != b->sym.vaddr)
		return a->sym.vaddr < b->sym.vaddr ? -1 : 1;
	if ((a->sym.type == STT_NOTYPE) != (b->sym.type == STT_NOTYPE))
		return a->sym.type == STT_NOTYPE ? -1 : 1;
	if (a->sym.dynamic != b->sym.dynamic)
		return a->sym.dynamic ? -1 : 1;
	unsigned int ua = underscores(a->sym.name), ub = underscores(b->sym.name);
	if (ua != ub)
		return ua > ub ? -1 : 1;
	size_t la = strlen(a->sym.name), lb = strlen(b->sym.name);
	if (la != lb)
		return la > lb ? -1 : 1;
	return -strcmp(a->sym.name, b->sym.name);
}

static int add(struct symtab *t, const struct entry *e, uint64_t next)
{
	const char **name = VEC_PUSH(t, names);
	uint64_t left = e->limit - e->sym.vaddr;
	if (!name)
		return -ENOMEM;
	*name = e->sym.name;
	uint32_t item = (uint32_t)(t->names_cnt - 1);
	if (!e->sym.size)
		return spans_add(&t->unsized, e->sym.vaddr, next < e->limit ? next : e->limit, item, 0);
	return spans_add(&t->sized, e->sym.vaddr, e->sym.vaddr + (e->sym.size < left ? e->sym.size : left), item, item);
}

static int add_all(struct symtab *t, const struct reading *r)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < r->entries_cnt; i++) {
		const struct entry *e = &r->entries[i];
		bool last = i + 1 == r->entries_cnt;
		if (last || e[1].sym.vaddr != e->sym.vaddr || e->sym.size)
			rc = add(t, e, last ? e->limit : e[1].sym.vaddr);
	}
	if (!rc)
		rc = spans_seal(&t->sized);
	return rc ? rc : spans_seal(&t->unsized);
}

int symtab_read(struct symtab *t, const struct elf *code, const struct elf *const others[], size_t others_cnt)
{
	struct reading r = { .code = code };
	memset(t, 0, sizeof(*t));
	int rc = elf_each_symbol(code, take, &r);
	for (size_t i = 0; !rc && i < others_cnt; i++)
		rc = others[i] ? elf_each_symbol(others[i], take, &r) : 0;
	if (r.entries_cnt)
		qsort(r.entries, r.entries_cnt, sizeof(*r.entries), by_place);
	if (!rc)
		rc = add_all(t, &r);
	free(r.entries);
	return rc;
}

const char *symtab_find(const struct symtab *t, uint64_t pc)
{
	uint32_t item = spans_find(&t->sized, pc);
	if (item == SPANS_NONE)
		item = spans_find(&t->unsized, pc);
	return item == SPANS_NONE ? NULL : t->names[item];
}

bool symtab_inside(const struct symtab *t, uint64_t pc)
{
	uint32_t item = spans_find(&t->sized, pc);
	return item != SPANS_NONE && item == spans_find(&t->sized, pc + 1);
}

void symtab_free(struct symtab *t)
{
	free(t->names);
	spans_free(&t->sized);
	spans_free(&t->unsized);
	memset(t, 0, sizeof(*t));
}
