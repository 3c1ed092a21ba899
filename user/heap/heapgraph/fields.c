/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/fields: see fields.h. Reads DWARF 2 to 5, and keeps only structures and classes with their members. */
#include "heapgraph/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"

#define TAG_STRUCTURE 0x13
#define TAG_CLASS 0x02
#define TAG_MEMBER 0x0d
#define AT_NAME 0x03
#define AT_BYTE_SIZE 0x0b
#define AT_DATA_MEMBER_LOCATION 0x38
#define FORM_IMPLICIT_CONST 0x21

#define CODES_MAX 65536        /* abbreviations per unit; compilers emit some dozens */
#define FIELDS_MAX (16u << 20) /* of all classes together */
#define DEPTH_MAX 256

struct abbrev {
	uint32_t tag;
	bool children;
	struct cursor attributes; /* pairs of attribute and form, terminated by 0 0 */
};

struct unit {
	struct cursor at; /* the unit's entries */
	uint16_t version;
	bool wide; /* 64-bit DWARF */
	uint8_t address_sz;
};

struct reading {
	struct fields *out;
	struct cursor strings, line_strings, abbrevs;
	uint64_t abbrevs_at; /* offset of the table in codes, UINT64_MAX = none */
	struct abbrev *codes;
	size_t codes_cnt, codes_cap;
};

/* The attributes of an entry that are needed here. */
struct entry {
	const char *name;
	uint64_t size, location;
	bool located;
};

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3ull;
	return h;
}

static const char *text_at(const struct cursor *section, uint64_t offset)
{
	size_t n = (size_t)(section->end - section->at);
	if (!n || offset >= n || !memchr(section->at + offset, 0, n - offset))
		return NULL;
	return (const char *)section->at + offset;
}

static const char *text_inline(struct cursor *c)
{
	const uint8_t *begin = c->at, *end = c->bad ? NULL : memchr(begin, 0, cursor_left(c));
	if (!end) {
		c->bad = true;
		return NULL;
	}
	cursor_bytes(c, (size_t)(end - begin) + 1);
	return (const char *)begin;
}

static void skip(struct cursor *c, uint64_t n)
{
	if (n > cursor_left(c))
		c->bad = true;
	else
		cursor_bytes(c, n);
}

/* Size of a form in bytes; 0 = not of fixed size. */
static unsigned int form_size(const struct unit *u, uint64_t form)
{
	switch (form) {
	case 0x0b:
	case 0x0c:
	case 0x11:
	case 0x25:
	case 0x29: /* data1 flag ref1 strx1 addrx1 */ return 1;
	case 0x05:
	case 0x12:
	case 0x26:
	case 0x2a: /* data2 ref2 strx2 addrx2 */ return 2;
	case 0x27:
	case 0x2b: /* strx3 addrx3 */ return 3;
	case 0x06:
	case 0x13:
	case 0x28:
	case 0x2c:
	case 0x1c: /* data4 ref4 strx4 addrx4 ref_sup4 */ return 4;
	case 0x07:
	case 0x14:
	case 0x20:
	case 0x24: /* data8 ref8 ref_sig8 ref_sup8 */ return 8;
	case 0x01: /* addr */ return u->address_sz;
	case 0x10: /* ref_addr: an address before version 3 */ return u->version < 3 ? u->address_sz : u->wide ? 8 : 4;
	case 0x0e:
	case 0x17:
	case 0x1d:
	case 0x1f:
	case 0x1f20:
	case 0x1f21: /* strp sec_offset strp_sup line_strp, dwz's */ return u->wide ? 8 : 4;
	}
	return 0;
}

/* Reads one value of the form: returns its number, or sets *text for strings. */
static uint64_t form_value(struct reading *r, struct cursor *c, const struct unit *u, uint64_t form, const char **text)
{
	unsigned int size = form_size(u, form);
	if (form == 0x16) /* indirect; nested, it would loop */
		form = cursor_varint(c), size = form_size(u, form);
	if (size > 8)
		c->bad = true;
	if (size && !c->bad) {
		uint64_t v = cursor_le(c, size);
		if (form == 0x0e || form == 0x1f)
			*text = text_at(form == 0x0e ? &r->strings : &r->line_strings, v);
		return v;
	}
	switch (form) {
	case 0x08: *text = text_inline(c); return 0;
	case 0x0d:
	case 0x0f:
	case 0x15:
	case 0x1a:
	case 0x1b:
	case 0x22:
	case 0x23: /* [su]data ref_udata strx addrx ... */ return cursor_varint(c);
	case 0x19: /* flag_present */ return 1;
	case 0x0a: skip(c, cursor_u8(c)); return 0;
	case 0x03: skip(c, cursor_le(c, 2)); return 0;
	case 0x04: skip(c, cursor_le(c, 4)); return 0;
	case 0x09:
	case 0x18: skip(c, cursor_varint(c)); return 0;
	case 0x1e: /* data16 */ skip(c, 16); return 0;
	}
	c->bad = true;
	return 0;
}

static struct entry read_entry(struct reading *r, struct cursor *c, const struct unit *u, const struct abbrev *a)
{
	struct entry e = { 0 };
	struct cursor spec = a->attributes;
	while (!spec.bad && !c->bad) {
		uint64_t at = cursor_varint(&spec), form = cursor_varint(&spec);
		const char *text = NULL;
		if (!at && !form)
			break;
		uint64_t v = form == FORM_IMPLICIT_CONST ? (uint64_t)cursor_varint(&spec) : form_value(r, c, u, form, &text);
		if (at == AT_NAME)
			e.name = text;
		else if (at == AT_BYTE_SIZE)
			e.size = v;
		else if (at == AT_DATA_MEMBER_LOCATION)
			e.location = v, e.located = true;
	}
	c->bad |= spec.bad;
	return e;
}

/* Compilers number abbreviations 1, 2, 3, ...; tables in another order are not read. */
static int read_abbrevs(struct reading *r, uint64_t offset)
{
	if (r->abbrevs_at == offset)
		return 0;
	struct cursor c = r->abbrevs;
	skip(&c, offset);
	r->codes_cnt = 0;
	r->abbrevs_at = offset;
	for (uint64_t want = 1; !c.bad && want <= CODES_MAX; want++) {
		uint64_t code = cursor_varint(&c);
		if (!code || code != want)
			return code ? -EBADMSG : 0;
		struct abbrev *a = VEC_PUSH(r, codes);
		if (!a)
			return -ENOMEM;
		a->tag = (uint32_t)cursor_varint(&c);
		a->children = cursor_u8(&c);
		a->attributes = c;
		for (uint64_t at = 1, form = 1; (at || form) && !c.bad;) {
			at = cursor_varint(&c);
			form = cursor_varint(&c);
			if (form == FORM_IMPLICIT_CONST)
				cursor_varint(&c);
		}
	}
	return c.bad ? -EBADMSG : 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct field *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int fields_add(struct fields *f, const struct field_class *c)
{
	if (!c->name || (!c->cnt && !c->size))
		return 0;
	uint64_t *place = map_put(&f->by_name, hash_of(c->name));
	if (!place)
		return -ENOMEM;
	if (c->cnt)
		qsort(f->all + c->first, c->cnt, sizeof(*f->all), by_offset);
	if (*place) {
		struct field_class *old = &f->classes[*place - 1];
		if (!strcmp(old->name, c->name) && old->cnt < c->cnt)
			*old = *c;
		return 0;
	}
	struct field_class *added = VEC_PUSH(f, classes);
	if (!added)
		return -ENOMEM;
	*added = *c;
	*place = f->classes_cnt;
	return 0;
}

static int add_field(struct fields *f, struct field_class *to, const struct entry *e)
{
	if (!e->name || !e->located || e->location > UINT32_MAX)
		return 0;
	struct field *added = f->all_cnt < FIELDS_MAX ? VEC_PUSH(f, all) : NULL;
	if (!added)
		return -ENOMEM;
	*added = (struct field){ e->name, (uint32_t)e->location };
	to->cnt++;
	return 0;
}

/* A structure's members are its children: `class` is the structure being read, at depth `at`. */
static int read_entries(struct reading *r, struct unit *u)
{
	struct field_class class = { 0 };
	unsigned int depth = 0, at = 0;
	int rc = 0;
	while (!rc && cursor_left(&u->at)) {
		uint64_t code = cursor_varint(&u->at);
		if (!code) {
			depth -= depth > 0;
			if (at && depth < at)
				rc = fields_add(r->out, &class), at = 0;
			continue;
		}
		if (code > r->codes_cnt || depth >= DEPTH_MAX)
			break;
		const struct abbrev *a = &r->codes[code - 1];
		struct entry e = read_entry(r, &u->at, u, a);
		depth += a->children;
		if (u->at.bad)
			break;
		if (a->tag == TAG_MEMBER && at && depth == at + a->children)
			rc = add_field(r->out, &class, &e);
		else if ((a->tag == TAG_STRUCTURE || a->tag == TAG_CLASS) && a->children && !at)
			class = (struct field_class){ .name = e.name, .size = e.size, .first = r->out->all_cnt }, at = depth;
		else if ((a->tag == TAG_STRUCTURE || a->tag == TAG_CLASS) && !a->children && e.name && e.size)
			/* A class without members (`class C; end`): its size is still useful. */
			rc = fields_add(r->out, &(struct field_class){ .name = e.name, .size = e.size });
	}
	return rc;
}

static bool next_unit(struct cursor *info, struct unit *u, uint64_t *abbrevs)
{
	uint64_t n = cursor_le(info, 4);
	*u = (struct unit){ .wide = n == 0xffffffff };
	if (u->wide)
		n = cursor_le(info, 8);
	if (info->bad || n > cursor_left(info))
		return false;
	u->at = cursor_sub(info, n);
	u->version = (uint16_t)cursor_le(&u->at, 2);
	uint8_t kind = 1;
	if (u->version >= 5) {
		kind = cursor_u8(&u->at);
		u->address_sz = cursor_u8(&u->at);
	}
	*abbrevs = cursor_le(&u->at, u->wide ? 8 : 4);
	if (u->version < 5)
		u->address_sz = cursor_u8(&u->at);
	/* Type units and skeleton units have longer headers; Crystal emits neither. */
	if (u->version < 2 || u->version > 5 || (kind != 1 && kind != 3) || u->address_sz > 8 || !u->address_sz)
		u->at.at = u->at.end;
	return !u->at.bad;
}

static struct cursor section(const struct elf *e, const char *name)
{
	size_t n = 0;
	const uint8_t *bytes = elf_section(e, name, &n, NULL);
	return cursor_over(bytes ? bytes : (const uint8_t *)"", bytes ? n : 0);
}

int fields_read(struct fields *f, const struct elf *e)
{
	struct reading r = {
		.out = f,
		.strings = section(e, ".debug_str"),
		.line_strings = section(e, ".debug_line_str"),
		.abbrevs = section(e, ".debug_abbrev"),
		.abbrevs_at = UINT64_MAX,
	};
	struct cursor info = section(e, ".debug_info");
	struct unit u;
	uint64_t abbrevs;
	int rc = 0;
	while (rc != -ENOMEM && cursor_left(&info) && next_unit(&info, &u, &abbrevs)) {
		rc = cursor_left(&u.at) ? read_abbrevs(&r, abbrevs) : 0;
		if (!rc && cursor_left(&u.at))
			rc = read_entries(&r, &u);
	}
	free(r.codes);
	return rc == -ENOMEM ? rc : f->classes_cnt ? 0 : -ENODATA;
}

void fields_free(struct fields *f)
{
	free(f->classes);
	free(f->all);
	map_free(&f->by_name);
	*f = (struct fields){ 0 };
}

const struct field_class *fields_class(const struct fields *f, const char *name)
{
	const uint64_t *place = map_get(&f->by_name, hash_of(name));
	const struct field_class *c = place && *place ? &f->classes[*place - 1] : NULL;
	return c && !strcmp(c->name, name) ? c : NULL;
}

const struct field *fields_at(const struct fields *f, const struct field_class *c, uint64_t offset, uint64_t *within)
{
	const struct field *best = NULL;
	if (offset >= c->size)
		return NULL;
	for (uint32_t i = 0; i < c->cnt && f->all[c->first + i].offset <= offset; i++)
		best = &f->all[c->first + i];
	if (best)
		*within = offset - best->offset;
	return best;
}
