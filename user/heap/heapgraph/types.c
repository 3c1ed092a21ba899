/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/types: see types.h. */
#include "heapgraph/types.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/vec.h"

#define NAME_MAX_SZ 2000 /* generic type names may be nested without limit */
#define SYMBOL_END ":type_id"
#define NEAREST 3

int types_begin(struct types *t)
{
	*t = (struct types){ 0 };
	return types_put(t, TYPE_ID_STRING, "String", strlen("String"), TYPE_ALWAYS);
}

void types_free(struct types *t)
{
	for (size_t i = 0; i < t->names_cnt; i++)
		free(t->names[i].name);
	free(t->names);
	map_free(&t->by_id);
	*t = (struct types){ 0 };
}

static char *cleaned(const char *name, size_t n)
{
	struct buf b = { 0 };
	text_clean(&b, name, n < NAME_MAX_SZ ? n : NAME_MAX_SZ);
	char *copy = b.failed ? NULL : strdup(buf_str(&b));
	buf_free(&b);
	return copy;
}

static struct type_name *place_of(struct types *t, uint32_t id)
{
	uint64_t *known = map_get(&t->by_id, id);
	if (known)
		return &t->names[*known];
	struct type_name *n = VEC_PUSH(t, names);
	uint64_t *place = n ? map_put(&t->by_id, id) : NULL;
	if (!place) {
		t->names_cnt -= n != NULL;
		return NULL;
	}
	n->id = id;
	*place = t->names_cnt - 1;
	return n;
}

int types_put(struct types *t, uint32_t id, const char *name, size_t n, enum type_known known)
{
	struct type_name *slot = place_of(t, id);
	if (!slot)
		return -ENOMEM;
	if (slot->name && slot->known >= known)
		return 0;
	char *copy = cleaned(name, n);
	if (!copy)
		return -ENOMEM;
	free(slot->name);
	slot->name = copy;
	slot->known = known;
	return 0;
}

const struct type_name *types_get(const struct types *t, uint32_t id)
{
	const uint64_t *place = map_get(&t->by_id, id);
	return place && t->names[*place].name ? &t->names[*place] : NULL;
}

static uint64_t hash_name(const char *name, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)name[i]) * 0x100000001b3ull;
	return h;
}

int types_generic(const struct types *t, struct map *out)
{
	struct map bases = { 0 };
	int rc = 0;
	for (size_t i = 0; i < t->names_cnt && !rc; i++) {
		const char *name = t->names[i].name, *open = strchr(name, '(');
		if (open && open > name && !map_put(&bases, hash_name(name, (size_t)(open - name))))
			rc = -ENOMEM;
	}
	for (size_t i = 0; i < t->names_cnt && !rc; i++) {
		const char *name = t->names[i].name;
		bool generic = !strchr(name, '(') && map_get(&bases, hash_name(name, strlen(name)));
		if (generic && !map_put(out, t->names[i].id))
			rc = -ENOMEM;
	}
	map_free(&bases);
	return rc;
}

void types_text(const struct types *t, uint32_t id, struct buf *out)
{
	const struct type_name *n = types_get(t, id);
	if (n)
		buf_adds(out, n->name);
	else
		buf_addf(out, "(class %u)", id);
}

/* --- sources of names ---------------------------------------------------------------------------- */

static bool skip(const char **at, const char *end, const char *text)
{
	size_t n = strlen(text);
	if ((size_t)(end - *at) < n || memcmp(*at, text, n))
		return false;
	*at += n;
	return true;
}

static bool number(const char **at, const char *end, uint32_t *out)
{
	uint64_t v = 0;
	const char *from = *at;
	for (; *at < end && **at >= '0' && **at <= '9' && v <= UINT32_MAX; (*at)++)
		v = v * 10 + (uint64_t)(**at - '0');
	*out = (uint32_t)v;
	return *at > from && v <= UINT32_MAX;
}

/* Parses "    {172 - 172}: A"; false: a line of another form. */
static bool parse_line(const char *at, const char *end, uint32_t *id, const char **name)
{
	uint32_t first;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	if (!skip(&at, end, "{") || !number(&at, end, &first) || !skip(&at, end, " - ") || !number(&at, end, id) ||
	    !skip(&at, end, "}: ") || at == end || first > *id)
		return false;
	*name = at;
	return true;
}

/* Macros may run programs, which are compiled first and print lists of their own: the last list is the program's. */
static const char *last_list(const char *at, const char *end)
{
	static const char first[] = "{0 - 0}: ";
	const char *last = at, *hit;
	while ((hit = memmem(at, (size_t)(end - at), first, strlen(first)))) {
		last = hit;
		at = hit + 1;
	}
	return last;
}

int types_parse(struct types *t, const void *text, size_t n, const char *file, struct err *err)
{
	const char *end = (const char *)text + n, *at = last_list(text, end);
	size_t lines = 0;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ?: end, *name;
		uint32_t id;
		size_t len = (size_t)(stop - at);
		len -= len && at[len - 1] == '\r';
		if (parse_line(at, at + len, &id, &name)) {
			size_t name_sz = (size_t)(at + len - name);
			lines++;
			if (types_put(t, id, name, name_sz, TYPE_FROM_COMPILER))
				return err_set(err, ENOMEM, "out of memory");
			if (name_sz == strlen("Reference") && !memcmp(name, "Reference", name_sz))
				t->reference_max = id;
		}
		at = newline ? newline + 1 : end;
	}
	if (!lines)
		return err_set(err, EBADMSG,
			       "%s has no line such as \"{171 - 171}: Foo\": make it with `CRYSTAL_DUMP_TYPE_ID=1 crystal build "
			       "PROGRAM > FILE`",
			       file);
	return 0;
}

struct reading_symbols {
	struct types *types;
	struct memory *m;
	const struct elf *program;
	uint64_t bias;
};

static int take_symbol(void *ctx, const struct elf_symbol *s)
{
	struct reading_symbols *r = ctx;
	size_t n = strlen(s->name), end = strlen(SYMBOL_END);
	uint32_t id;
	if (!s->defined || s->type != STT_OBJECT || s->size != sizeof(id) || n <= end || strcmp(s->name + n - end, SYMBOL_END))
		return 0;
	const uint8_t *bytes = elf_bytes(r->program, s->vaddr, sizeof(id));
	if (bytes)
		memcpy(&id, bytes, sizeof(id));
	else if (memory_read(r->m, s->vaddr + r->bias, &id, sizeof(id)))
		return 0;
	return id ? types_put(r->types, id, s->name, n - end, TYPE_FROM_SYMBOLS) : 0;
}

int types_read_symbols(struct types *t, struct memory *m, const struct elf *program, uint64_t bias)
{
	struct reading_symbols r = { t, m, program, bias };
	return elf_each_symbol(program, take_symbol, &r);
}

/* --- looking up names --------------------------------------------------------------------------- */

static bool is_last_part(const char *name, const char *part)
{
	size_t n = strlen(name), k = strlen(part);
	return n > k + 2 && !strcmp(name + n - k, part) && name[n - k - 1] == ':' && name[n - k - 2] == ':';
}

size_t types_find(const struct types *t, const char *name, uint32_t *out, size_t cap)
{
	size_t n = 0;
	for (int exact = 1; exact >= 0 && !n; exact--) {
		for (size_t i = 0; i < t->names_cnt; i++) {
			const struct type_name *k = &t->names[i];
			if (!k->name || !(exact ? !strcmp(k->name, name) : is_last_part(k->name, name)))
				continue;
			if (n < cap)
				out[n] = k->id;
			n++;
		}
	}
	return n;
}

#define COMPARED 48 /* characters of a name that are compared */

static unsigned int smallest(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;
	return least < c ? least : c;
}

/* Levenshtein distance, ignoring case. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[COMPARED + 1];
	size_t n = strnlen(b, COMPARED);
	for (size_t k = 0; k <= n; k++)
		row[k] = (unsigned int)k;
	for (size_t i = 0; i < strnlen(a, COMPARED); i++) {
		unsigned int before = row[0]++;
		for (size_t k = 1; k <= n; k++) {
			unsigned int change = before + !!strncasecmp(a + i, b + k - 1, 1);
			before = row[k];
			row[k] = smallest(row[k] + 1, row[k - 1] + 1, change);
		}
	}
	return row[n];
}

struct near {
	const char *name;
	unsigned int distance;
};

static void keep_near(struct near *near, const char *name, unsigned int d)
{
	size_t at = NEAREST;
	while (at && (!near[at - 1].name || near[at - 1].distance > d))
		at--;
	for (size_t i = NEAREST - 1; i > at; i--)
		near[i] = near[i - 1];
	if (at < NEAREST)
		near[at] = (struct near){ name, d };
}

void types_nearest(const struct types *t, const char *name, struct buf *out)
{
	struct near near[NEAREST] = { 0 };
	size_t len = strnlen(name, COMPARED);
	for (size_t i = 0; i < t->names_cnt; i++) {
		const struct type_name *k = &t->names[i];
		if (!k->name || (t->reference_max && k->id > t->reference_max))
			continue;
		unsigned int d = distance(k->name, name);
		if (len > 2 && strcasestr(k->name, name))
			d = d < 2 ? d : 2;
		if (d <= 1 + len / 4)
			keep_near(near, k->name, d);
	}
	for (size_t i = 0; i < NEAREST && near[i].name; i++)
		buf_addf(out, "%s%s", i ? ", " : "", near[i].name);
}
