/* SPDX-License-Identifier: Apache-2.0 */
/* profiles/dictionary: see dictionary.h. */
#include "profiles/dictionary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

/* Identity of a location. Frames that are not code differ by text only. */
struct location_key {
	uint64_t pc, map, lines, text;
};

static int64_t string_n(struct dictionary *d, const char *text, size_t n)
{
	size_t before = d->strings.spans_cnt;
	uint32_t id = names_put(&d->strings, text, n);
	if (id == NAMES_FAILED) {
		d->failed = true;
		return 0;
	}
	if (d->strings.spans_cnt != before)
		d->ops->string(d->writer, names_at(&d->strings, id));
	return id;
}

int64_t dictionary_string(struct dictionary *d, const char *text)
{
	return string_n(d, text, strlen(text));
}

int64_t dictionary_clean(struct dictionary *d, const char *text)
{
	struct buf b = { 0 };
	text_clean(&b, text, SIZE_MAX);
	int64_t id = string_n(d, buf_str(&b), b.len);
	d->failed |= b.failed;
	buf_free(&b);
	return id;
}

static uint64_t mapping_of(struct dictionary *d, struct map_id map)
{
	uint64_t *index = map.n ? map_put(&d->map_index, map.n) : NULL;
	if (!index) {
		d->failed |= map.n != 0;
		return 0;
	}
	if (!*index) {
		struct used_mapping *u = VEC_PUSH(d, maps);
		if (!u) {
			d->failed = true;
			return 0;
		}
		u->map = map;
		*index = d->maps_cnt;
	}
	return *index;
}

static void put_main_first(struct dictionary *d)
{
	const struct catalog *c = d->in->catalog;
	const struct mapping *m;
	size_t i = 0, k = 0;
	const struct proc *proc = catalog_next_proc(c, &i);
	while (proc && proc->exe && (m = catalog_next_mapping(c, &k))) {
		const struct module *module = catalog_module(c, m->module);
		if (m->proc.n == proc->id.n && module && module->path && !strcmp(module->path, proc->exe)) {
			mapping_of(d, m->id);
			return;
		}
	}
}

void dictionary_begin(struct dictionary *d)
{
	dictionary_string(d, "");
	put_main_first(d);
}

static uint64_t function_of(struct dictionary *d, const struct sink_frame *f)
{
	struct buf b = { 0 };
	sink_frame_name(f, &b);
	int64_t name = string_n(d, buf_str(&b), b.len);
	int64_t file = f->symbol && f->symbol->file ? dictionary_clean(d, f->symbol->file) : 0;
	uint64_t *id = b.failed ? NULL : map_put(&d->functions, (uint64_t)name << 32 | (uint64_t)file);
	buf_free(&b);
	if (!id) {
		d->failed = true;
		return 0;
	}
	if (!*id) {
		*id = d->functions.count;
		d->ops->function(d->writer, *id, name, file);
	}
	return *id;
}

/* If only addresses were recorded, frames of files have no names, for readers to look up. */
static bool is_bare(const struct dictionary *d, const struct sink_frame *f)
{
	return !d->resolved && f->module;
}

static void fill_lines(struct dictionary *d, const struct sink_frame *f, size_t n)
{
	d->lines_cnt = 0;
	for (size_t i = 0; i < n && !is_bare(d, f); i++) {
		struct dictionary_line *line = VEC_PUSH(d, lines);
		if (!line) {
			d->failed = true;
			return;
		}
		line->function = function_of(d, &f[i]);
		line->line = f[i].symbol ? f[i].symbol->line : 0;
		line->column = f[i].symbol ? f[i].symbol->column : 0;
	}
}

static void write_location(struct dictionary *d, uint64_t id, const struct sink_frame *f, size_t n)
{
	struct dictionary_location l = { .address = d->in->options->no_addresses ? 0 : f->pc };
	fill_lines(d, f, n);
	l.mapping = mapping_of(d, f->map);
	l.lines = d->lines;
	l.lines_cnt = d->lines_cnt;
	d->ops->location(d->writer, id, &l);
	if (l.mapping && l.lines_cnt)
		d->maps[l.mapping - 1].symbolized = true;
}

static void push_location(struct dictionary *d, const struct location_key *key, const struct sink_frame *f, size_t n)
{
	size_t before = d->locations.spans_cnt;
	uint32_t id = names_put(&d->locations, key, sizeof(*key));
	uint64_t *at = id == NAMES_FAILED ? NULL : VEC_PUSH(d, ids);
	if (!at) {
		d->failed = true;
		return;
	}
	*at = id + 1ull;
	if (d->locations.spans_cnt != before)
		write_location(d, *at, f, n);
}

void dictionary_stack(struct dictionary *d, const struct sink_stack *s)
{
	d->ids_cnt = 0;
	for (size_t i = 0, n; i < s->frames_cnt && !d->failed; i += n) {
		const struct sink_frame *f = &s->frames[i];
		n = 1;
		while (i + n < s->frames_cnt && f[n - 1].inlined)
			n++;
		struct location_key key = { f->pc, f->map.n, n, f->map.n ? 0 : (uintptr_t)f->symbol };
		push_location(d, &key, f, n);
	}
}

struct before_row *dictionary_before_rows(const struct dictionary *d, size_t *cnt)
{
	const struct sink_options *o = d->in->options;
	*cnt = 0;
	return o->from_ns || o->until_ns ? NULL : format_before_rows_apart(d->in->catalog, cnt);
}

static int64_t clamped(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

void dictionary_before(struct dictionary *d, const struct before_row *row, int64_t values[VALUE_CNT])
{
	struct buf name = { 0 };
	format_before_name(row, &name);
	struct symbol symbol = { .name = buf_str(&name), .quality = SYMBOL_MODULE };
	struct sink_frame frame = { .symbol = &symbol };
	d->failed |= name.failed;
	d->ids_cnt = 0;
	push_location(d, &(struct location_key){ .text = (uintptr_t)row->type }, &frame, 1);
	buf_free(&name);
	memset(values, 0, VALUE_CNT * sizeof(*values));
	values[VALUE_INUSE_OBJECTS] = clamped(row->cnt);
	values[VALUE_INUSE_SPACE] = clamped(row->sz);
}

static int64_t build_id_of(struct dictionary *d, const struct module *module)
{
	char hex[BUILD_ID_TEXT];
	return dictionary_string(d, module_build_id(module, hex));
}

static void write_mapping(struct dictionary *d, uint64_t id, const struct used_mapping *u)
{
	const struct mapping *map = catalog_mapping(d->in->catalog, u->map);
	const struct module *module = map ? catalog_module(d->in->catalog, map->module) : NULL;
	struct dictionary_mapping m = { .symbolized = u->symbolized };
	if (map && !d->in->options->no_addresses) {
		m.start = map->start;
		m.limit = map->end;
		/* In usual layouts offset = address, unless linked to a fixed address. */
		m.file_offset = map->bias ? map->start - map->bias : 0;
	}
	if (module) {
		m.filename = module->path ? dictionary_clean(d, module->path) : 0;
		m.build_id = build_id_of(d, module);
	}
	d->ops->mapping(d->writer, id, &m);
}

void dictionary_end(struct dictionary *d)
{
	for (size_t i = 0; i < d->maps_cnt; i++)
		write_mapping(d, i + 1, &d->maps[i]);
}

void dictionary_free(struct dictionary *d)
{
	names_free(&d->strings);
	names_free(&d->locations);
	map_free(&d->functions);
	map_free(&d->map_index);
	free(d->maps);
	free(d->ids);
	free(d->lines);
}
