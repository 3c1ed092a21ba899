/* SPDX-License-Identifier: Apache-2.0 */
/* beam/block_types: see block_types.h. */
#include "beam/block_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define TYPES_MAX 1024

struct tables {
	const struct elf *elf;
	struct elf_symbol numbers, names;
};

static int is_table(void *ctx, const struct elf_symbol *s)
{
	struct tables *t = ctx;
	if (s->defined && !strcmp(s->name, "erts_alc_n2t"))
		t->numbers = *s;
	if (s->defined && !strcmp(s->name, "erts_alc_n2td"))
		t->names = *s;
	return 0;
}

/* Of one element of a table; false: it is not in the file. */
static bool element(const struct tables *t, const struct elf_symbol *table, size_t i, void *out, size_t n)
{
	const uint8_t *bytes = elf_bytes(t->elf, table->vaddr + i * n, n);
	if (bytes)
		memcpy(out, bytes, n);
	return bytes;
}

static bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool name_at(const struct tables *t, uint64_t vaddr, char out[BEAM_TYPE_NAME])
{
	for (size_t i = 0; i < BEAM_TYPE_NAME; i++) {
		const uint8_t *c = elf_bytes(t->elf, vaddr + i, 1);
		if (!c || (*c && !is_letter(*c)))
			return false;
		out[i] = (char)*c;
		if (!*c)
			return i > 0;
	}
	return false;
}

/* Number 0 is no type. 1, 0 if the tables are not as expected, or -ENOMEM. */
static int take(const struct tables *t, size_t i, struct beam_types *out)
{
	struct beam_type type = { 0 };
	uint64_t name;
	if (!element(t, &t->numbers, i, &type.number, sizeof(type.number)) || !element(t, &t->names, i, &name, sizeof(name)))
		return 0;
	if (!type.number)
		return 1;
	if (type.number >= ALYS_MEMORY_TYPED || !name_at(t, name, type.name) || beam_type_name(out, type.number))
		return 0;
	struct beam_type *place = VEC_PUSH(out, at);
	if (!place)
		return -ENOMEM;
	*place = type;
	return 1;
}

int beam_types_find(const struct elf *e, struct beam_types *out)
{
	struct tables t = { .elf = e };
	*out = (struct beam_types){ 0 };
	elf_each_symbol(e, is_table, &t);
	size_t n = t.numbers.size / sizeof(uint32_t);
	int rc = n && n <= TYPES_MAX && t.names.size == n * sizeof(uint64_t);
	for (size_t i = 0; i < n && rc > 0; i++)
		rc = take(&t, i, out);
	if (rc <= 0)
		beam_types_free(out);
	return rc < 0 ? rc : 0;
}

void beam_types_free(struct beam_types *t)
{
	free(t->at);
	*t = (struct beam_types){ 0 };
}

const char *beam_type_name(const struct beam_types *t, uint32_t number)
{
	for (size_t i = 0; i < t->at_cnt; i++) {
		if (t->at[i].number == number)
			return t->at[i].name;
	}
	return NULL;
}

void beam_types_of_heaps(const struct beam_types *t, uint16_t out[ALYS_BEAM_OWN_TYPES])
{
	static const char *const heaps[ALYS_BEAM_OWN_TYPES] = { "heap", "old_heap", "heap_frag", "message" };
	for (size_t i = 0; i < t->at_cnt; i++) {
		for (size_t k = 0; k < ALYS_BEAM_OWN_TYPES; k++) {
			if (!strcmp(t->at[i].name, heaps[k]))
				out[k] = (uint16_t)t->at[i].number;
		}
	}
}
