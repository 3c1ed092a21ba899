/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf/versions: joins names that ld has split. Exported Crystal names contain @; ld reads
 * "*Array(Foo)@Array(T)#push<Foo>:Array(Foo)" as symbol "*Array(Foo)" of version "Array(T)#push...", and in a stripped
 * program only .dynsym is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"

#define VERSION_HIDDEN 0x8000
#define JOINED_MAX (32u << 10)

struct definitions {
	Elf64_Shdr sh, strings;
	const uint8_t *bytes, *string_bytes;
};

static bool definitions_open(const struct elf *e, struct definitions *d)
{
	if (!elf_section_find(e, ".gnu.version_d", &d->sh) || !elf_section_header(e, d->sh.sh_link, &d->strings))
		return false;
	d->bytes = elf_section_bytes(e, &d->sh);
	d->string_bytes = elf_section_bytes(e, &d->strings);
	return d->bytes && d->string_bytes;
}

static bool read_part(const struct definitions *d, uint64_t at, void *out, size_t n)
{
	if (at > d->sh.sh_size || n > d->sh.sh_size - at)
		return false;
	memcpy(out, d->bytes + at, n);
	return true;
}

static const char *version_text(const struct definitions *d, uint32_t at)
{
	if (at >= d->strings.sh_size)
		return NULL;
	const char *text = (const char *)d->string_bytes + at;
	return memchr(text, '\0', d->strings.sh_size - at) ? text : NULL;
}

/* Definition number -> name. A definition is 20 bytes at least, so the chain ends. */
static void read_definitions(const struct elf *e)
{
	struct definitions d;
	Elf64_Verdef def;
	Elf64_Verdaux aux;
	uint64_t at = 0;
	if (!definitions_open(e, &d))
		return;
	uint64_t left = d.sh.sh_size / sizeof(def);
	for (; left && read_part(&d, at, &def, sizeof(def)); left--) {
		const char *text = read_part(&d, at + def.vd_aux, &aux, sizeof(aux)) ? version_text(&d, aux.vda_name) : NULL;
		uint64_t *slot = text ? map_put(&e->cache->versions, def.vd_ndx) : NULL;
		if (slot)
			*slot = (uint64_t)(uintptr_t)text;
		if (!def.vd_next)
			return;
		at += def.vd_next;
	}
}

static const char *version_of(const struct elf *e, size_t index)
{
	Elf64_Shdr sh;
	uint16_t number;
	const uint8_t *bytes = NULL;
	if (elf_section_find(e, ".gnu.version", &sh))
		bytes = elf_section_bytes(e, &sh);
	if (!bytes || index >= sh.sh_size / sizeof(number))
		return NULL;
	memcpy(&number, bytes + index * sizeof(number), sizeof(number));
	number &= (uint16_t)~VERSION_HIDDEN;
	if (!e->cache->versions_ready) {
		e->cache->versions_ready = true;
		read_definitions(e);
	}
	/* 1 is the file itself: a name without version. */
	const uint64_t *text = number > 1 ? map_get(&e->cache->versions, number) : NULL;
	return text ? (const char *)(uintptr_t)*text : NULL;
}

const char *elf_joined_name(const struct elf *e, size_t index, const char *name)
{
	const char *version = *name == '*' || *name == '~' ? version_of(e, index) : NULL;
	size_t n = version ? strlen(name) + strlen(version) + 2 : 0;
	if (!version || n > JOINED_MAX)
		return name;
	uint64_t *slot = map_put(&e->cache->joined, index);
	if (slot && !*slot) {
		char *joined = malloc(n);
		if (joined)
			snprintf(joined, n, "%s@%s", name, version);
		*slot = (uint64_t)(uintptr_t)joined;
	}
	return slot && *slot ? (const char *)(uintptr_t)*slot : name;
}
