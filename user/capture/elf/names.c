/* SPDX-License-Identifier: Apache-2.0 */
/* elf/names: the symbol tables, and which symbol a PLT entry jumps to; see elf.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "elf/arch.h"
#include "elf/file.h"

#define RELOCATIONS_MAX (1u << 22)
#define NAME_MAX_LEN (32u << 10) /* millions of symbols may share one very long name */

struct table {
	Elf64_Shdr symbols, strings;
	const uint8_t *symbol_bytes, *string_bytes;
	size_t n;
};

static bool table_open(const struct elf *e, const Elf64_Shdr *symbols, struct table *t)
{
	t->symbols = *symbols;
	if (!elf_section_header(e, symbols->sh_link, &t->strings) || t->strings.sh_type != SHT_STRTAB)
		return false;
	t->symbol_bytes = elf_section_bytes(e, &t->symbols);
	t->string_bytes = elf_section_bytes(e, &t->strings);
	t->n = symbols->sh_size / sizeof(Elf64_Sym);
	return t->symbol_bytes && t->string_bytes;
}

static bool table_of_type(const struct elf *e, uint32_t type, struct table *t)
{
	Elf64_Shdr sh;
	for (uint32_t i = 1; elf_section_header(e, i, &sh); i++)
		if (sh.sh_type == type)
			return table_open(e, &sh, t);
	return false;
}

/*
 * ld writes "malloc@GLIBC_2.2.5" and "f@@V" into .symtab. Crystal has @ inside of names, as in
 * *Array(Foo)@Array(T)#push<Foo>, so a version is only what follows a plain C identifier.
 */
static size_t unversioned_len(const char *name, size_t len)
{
	size_t at = strcspn(name, "@"), tail = at;
	if (at == len || at == 0)
		return len;
	for (size_t i = 0; i < at; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.$", name[i]))
			return len;
	while (name[tail] == '@')
		tail++;
	if (tail - at > 2 || tail == len)
		return len;
	for (size_t i = tail; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.-+", name[i]))
			return len;
	return at;
}

static const char *without_version(const struct elf *e, const char *name, size_t len)
{
	size_t keep = unversioned_len(name, len);
	if (keep == len)
		return name;
	uint64_t *copy = map_put(&e->cache->names, (uint64_t)(uintptr_t)name);
	if (!copy)
		return name;
	if (!*copy)
		*copy = (uint64_t)(uintptr_t)strndup(name, keep);
	return *copy ? (const char *)(uintptr_t)*copy : name;
}

/* NULL when the name is empty, overlong or leaves the string table. */
static const char *table_name(const struct elf *e, const struct table *t, const Elf64_Sym *sym)
{
	if (sym->st_name == 0 || sym->st_name >= t->strings.sh_size)
		return NULL;
	const char *name = (const char *)t->string_bytes + sym->st_name;
	size_t room = t->strings.sh_size - sym->st_name;
	size_t len = strnlen(name, room < NAME_MAX_LEN ? room : NAME_MAX_LEN);
	return len && len < room && len < NAME_MAX_LEN ? without_version(e, name, len) : NULL;
}

/*
 * SHN_ABS: in .dynsym these are version definitions, and the halves of Crystal's names that ld took for versions.
 * Neither is an address in the file.
 */
static bool is_place(const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);
	return type != STT_FILE && type != STT_SECTION && sym->st_shndx != SHN_ABS && sym->st_shndx != SHN_COMMON;
}

static int each_in(const struct elf *e, const struct table *t, int (*fn)(void *ctx, const struct elf_symbol *s), void *ctx)
{
	for (size_t i = 1; i < t->n; i++) {
		Elf64_Sym sym;
		memcpy(&sym, t->symbol_bytes + i * sizeof(sym), sizeof(sym));
		const char *name = is_place(&sym) ? table_name(e, t, &sym) : NULL;
		if (!name)
			continue;
		if (t->symbols.sh_type == SHT_DYNSYM)
			name = elf_joined_name(e, i, name);
		int rc = fn(ctx, &(struct elf_symbol){
					 .name = name,
					 .vaddr = sym.st_value,
					 .size = sym.st_size,
					 .type = ELF64_ST_TYPE(sym.st_info),
					 .dynamic = t->symbols.sh_type == SHT_DYNSYM,
					 .defined = sym.st_shndx != SHN_UNDEF,
				 });
		if (rc)
			return rc;
	}
	return 0;
}

int elf_each_symbol(const struct elf *e, int (*fn)(void *ctx, const struct elf_symbol *s), void *ctx)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };
	for (size_t i = 0; i < 2; i++) {
		struct table t;
		int rc = table_of_type(e, types[i], &t) ? each_in(e, &t, fn, ctx) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* A slot filled by an IFUNC resolver has no symbol, but the resolver's address. */
static void add_resolver(const struct elf *e, const Elf64_Rela *r)
{
	uint64_t *slot = map_put(&e->cache->resolvers, r->r_offset);
	if (slot)
		*slot = (uint64_t)r->r_addend;
}

static void add_targets(const struct elf *e, const char *section)
{
	Elf64_Shdr rela, symbols;
	struct table t = { 0 };
	const uint8_t *bytes = elf_section_find(e, section, &rela) ? elf_section_bytes(e, &rela) : NULL;
	if (!bytes || rela.sh_type != SHT_RELA)
		return;
	if (!elf_section_header(e, rela.sh_link, &symbols) || !table_open(e, &symbols, &t))
		t.n = 0; /* a static program's */
	size_t n = rela.sh_size / sizeof(Elf64_Rela);
	for (size_t i = 0; i < n && i < RELOCATIONS_MAX; i++) {
		Elf64_Rela r;
		Elf64_Sym sym;
		memcpy(&r, bytes + i * sizeof(r), sizeof(r));
		uint64_t type = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
		if (type == elf_arch.irelative)
			add_resolver(e, &r);
		if ((type != elf_arch.jump_slot && type != elf_arch.glob_dat) || index >= t.n)
			continue;
		memcpy(&sym, t.symbol_bytes + index * sizeof(sym), sizeof(sym));
		const char *name = table_name(e, &t, &sym);
		uint64_t *slot = name ? map_put(&e->cache->targets, r.r_offset) : NULL;
		if (slot)
			*slot = (uint64_t)(uintptr_t)name;
	}
}

static bool in_plt(const struct elf *e, uint64_t vaddr)
{
	static const char *const plts[] = { ".plt", ".plt.sec", ".plt.got" };
	Elf64_Shdr sh;
	for (size_t i = 0; i < sizeof(plts) / sizeof(*plts); i++)
		if (elf_section_find(e, plts[i], &sh) && vaddr >= sh.sh_addr && vaddr - sh.sh_addr < sh.sh_size)
			return true;
	return false;
}

const char *elf_slot_target(const struct elf *e, uint64_t vaddr)
{
	struct elf_cache *c = e->cache;
	if (!c->targets_ready) {
		add_targets(e, ".rela.plt");
		add_targets(e, ".rela.dyn");
		c->targets_ready = true;
	}
	const uint64_t *name = map_get(&c->targets, vaddr);
	return name ? (const char *)(uintptr_t)*name : NULL;
}

uint64_t elf_got_resolver(const struct elf *e, uint64_t vaddr)
{
	uint64_t slot = elf_stub_slot(e, vaddr);
	const uint64_t *resolver = slot && !elf_slot_target(e, slot) ? map_get(&e->cache->resolvers, slot) : NULL;
	return resolver ? *resolver : 0;
}

const char *elf_got_target(const struct elf *e, uint64_t vaddr)
{
	uint64_t slot = elf_stub_slot(e, vaddr);
	return slot ? elf_slot_target(e, slot) : NULL;
}

const char *elf_plt_target(const struct elf *e, uint64_t vaddr)
{
	return in_plt(e, vaddr) ? elf_got_target(e, vaddr) : NULL;
}

/* What the dynamic linker puts there, if it is an address in this file. False: no relocation. */
static bool relocated(const struct elf *e, uint64_t slot, uint64_t *value)
{
	Elf64_Shdr rela;
	const uint8_t *bytes = elf_section_find(e, ".rela.dyn", &rela) ? elf_section_bytes(e, &rela) : NULL;
	size_t n = bytes && rela.sh_type == SHT_RELA ? rela.sh_size / sizeof(Elf64_Rela) : 0;
	for (size_t i = 0; i < n && i < RELOCATIONS_MAX; i++) {
		Elf64_Rela r;
		memcpy(&r, bytes + i * sizeof(r), sizeof(r));
		if (r.r_offset != slot)
			continue;
		*value = ELF64_R_TYPE(r.r_info) == elf_arch.relative ? (uint64_t)r.r_addend : 0;
		return true;
	}
	return false;
}

uint64_t elf_first_word(const struct elf *e, uint64_t vaddr)
{
	uint64_t value = 0;
	if (elf_slot_target(e, vaddr) || relocated(e, vaddr, &value))
		return value;
	const uint8_t *word = elf_bytes(e, vaddr, sizeof(value));
	if (word)
		memcpy(&value, word, sizeof(value));
	return value;
}

uint64_t elf_first_target(const struct elf *e, uint64_t vaddr)
{
	uint64_t slot = elf_stub_slot(e, vaddr);
	return slot ? elf_first_word(e, slot) : 0;
}
