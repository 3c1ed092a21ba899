/* SPDX-License-Identifier: Apache-2.0 */
/* erlang/atoms: see atoms.h. */
#include "erlang/atoms.h"

#include <string.h>

#include "access/rights.h"

#define TAG 0x0b /* erl_term.h: _TAG_IMMED2_ATOM */
#define TAG_BITS 6
#define PAGE_BITS 10 /* index.h: INDEX_PAGE_SHIFT */
#define PAGE_SLOTS (1u << PAGE_BITS)
#define TABLE_WORDS 16
#define ATOM_SZ 64
#define NAME_MAX_SZ 1024 /* 255 characters of UTF-8 */
#define INDEX_MAX (1u << 26)

/* A VM that is what it seems has few: words of its table that are no addresses, and an atom of a process that is ending. */
#define MISSES_MAX 64

static bool miss(struct atoms *a)
{
	a->misses++;
	return false;
}

static bool read_at(struct atoms *a, uint64_t at, void *out, size_t n)
{
	struct rights_range r = { at, n };
	if (a->misses >= MISSES_MAX)
		return false;
	return rights_memory(a->tgid, &r, 1, out) == (int64_t)n || miss(a);
}

/* The first atoms: their bytes, and what they are called. */
struct first_atoms {
	uint8_t bytes[BEAM_ATOMS][ATOM_SZ];
	const struct beam_atoms *known;
};

static bool read_atoms(struct atoms *a, uint64_t pages, struct first_atoms *f)
{
	uint64_t page, at[BEAM_ATOMS];
	if (!pages || !read_at(a, pages, &page, sizeof(page)) || !read_at(a, page, at, sizeof(at)))
		return false;
	for (size_t i = 0; i < BEAM_ATOMS; i++) {
		if (!read_at(a, at[i], f->bytes[i], ATOM_SZ))
			return false;
	}
	return true;
}

static uint64_t field(const struct first_atoms *f, size_t i, size_t at, size_t n)
{
	uint64_t v = 0;
	memcpy(&v, f->bytes[i] + at, n);
	return v;
}

static bool is_index(const struct first_atoms *f, size_t at)
{
	for (size_t i = 0; i < BEAM_ATOMS; i++) {
		if (field(f, i, at, sizeof(uint32_t)) != i)
			return false;
	}
	return true;
}

static bool is_len(const struct first_atoms *f, size_t at)
{
	for (size_t i = 0; i < BEAM_ATOMS; i++) {
		if (field(f, i, at, sizeof(uint16_t)) != strlen(f->known->names[i]))
			return false;
	}
	return true;
}

static bool is_name(struct atoms *a, const struct first_atoms *f, size_t at)
{
	char name[BEAM_ATOM_NAME];
	for (size_t i = 0; i < BEAM_ATOMS; i++) {
		size_t n = strlen(f->known->names[i]);
		bool same = !n ||
			    (read_at(a, field(f, i, at, sizeof(uint64_t)), name, n) && !memcmp(name, f->known->names[i], n));
		if (!same)
			return false;
	}
	return true;
}

/* All three, or false. The count of characters beside the length is the same in these names; the length comes first. */
static bool find_fields(struct atoms *out, const struct first_atoms *f)
{
	size_t index = 0, len = 0, name = 0;
	while (index < ATOM_SZ && !is_index(f, index))
		index += sizeof(uint32_t);
	while (len < ATOM_SZ && !is_len(f, len))
		len += sizeof(uint16_t);
	while (name < ATOM_SZ && !is_name(out, f, name))
		name += sizeof(uint64_t);
	out->index_at = (uint16_t)index;
	out->len_at = (uint16_t)len;
	out->name_at = (uint16_t)name;
	return index < ATOM_SZ && len < ATOM_SZ && name < ATOM_SZ;
}

void atoms_find(uint32_t tgid, uint64_t bias, const struct beam_atoms *known, struct atoms *out)
{
	uint64_t words[TABLE_WORDS];
	struct first_atoms f = { .known = known };
	*out = (struct atoms){ .tgid = tgid };
	if (!read_at(out, bias + known->table, words, sizeof(words)))
		return;
	for (size_t i = 0; i < TABLE_WORDS && !out->pages; i++) {
		if (read_atoms(out, words[i], &f) && find_fields(out, &f))
			out->pages = words[i];
	}
}

bool atoms_text(struct atoms *a, uint64_t term, struct buf *out)
{
	uint64_t i = term >> TAG_BITS, page, at, name = 0;
	uint8_t atom[ATOM_SZ];
	char text[NAME_MAX_SZ];
	uint32_t index;
	uint16_t len;
	if (!a->pages || (term & ((1u << TAG_BITS) - 1)) != TAG || i >= INDEX_MAX ||
	    !read_at(a, a->pages + sizeof(page) * (i >> PAGE_BITS), &page, sizeof(page)) ||
	    !read_at(a, page + sizeof(at) * (i & (PAGE_SLOTS - 1)), &at, sizeof(at)) || !read_at(a, at, atom, sizeof(atom)))
		return false;
	memcpy(&index, atom + a->index_at, sizeof(index));
	memcpy(&len, atom + a->len_at, sizeof(len));
	memcpy(&name, atom + a->name_at, sizeof(name));
	if (index != i || len > sizeof(text))
		return miss(a);
	if (!len || !read_at(a, name, text, len))
		return false;
	buf_add(out, text, len);
	return true;
}
