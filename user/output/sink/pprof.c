/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/pprof: the snapshot as a gzipped profile.proto. Each element is packed as a Profile of its
 * own and appended: concatenated protobuf messages are one message, so no tree of the whole is
 * ever held. Numbers 1, 2, 3... in order of first use, because Parca refuses others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "allocators/allocators.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/fold.h"
#include "sink/registry.h"
#include "user/output/sink/profile.pb-c.h"

#define FLUSH_SZ (256 * 1024)

typedef Perftools__Profiles__Profile profile_msg;

/* A mapping in use. Written last, when it is known what of it had names. */
struct used_map {
	struct map_id map;
	bool symbolized;
};

struct pprof {
	const struct sink_input *in;
	struct sink_out *out;
	struct err *err;
	z_stream z;
	struct buf raw, packed;
	struct names strings;   /* id = index into string_table */
	struct names locations; /* struct location_key -> id - 1 */
	struct map functions;   /* name << 32 | file -> id */
	struct map map_index;   /* map_id -> index into maps */
	struct used_map *maps;
	size_t maps_cnt, maps_cap;
	uint64_t *ids; /* locations of the sample at hand */
	size_t ids_cnt, ids_cap;
	Perftools__Profiles__Line *lines; /* of the location at hand */
	size_t lines_cnt, lines_cap;
	bool verbatim; /* names that go tool pprof would cut at a parenthesis, did it take them for symbols */
	bool several;  /* processes */
	bool resolved; /* names were looked up when this was recorded */
	bool failed;   /* memory */
};

/* What makes two frames the same location. Frames that are no code differ by their text only. */
struct location_key {
	uint64_t pc, map, lines, text;
};

static int deflate_raw(struct pprof *p, int flush)
{
	int rc;
	p->z.next_in = p->raw.data;
	p->z.avail_in = (uInt)p->raw.len;
	do {
		uint8_t *room = buf_room(&p->packed, FLUSH_SZ);
		if (!room)
			return err_set(p->err, ENOMEM, "out of memory while compressing");
		p->z.next_out = room;
		p->z.avail_out = FLUSH_SZ;
		deflate(&p->z, flush);
		p->packed.len += FLUSH_SZ - p->z.avail_out;
		bool full = !p->z.avail_out;
		rc = format_flush(p->out, &p->packed, p->err);
		if (!full)
			break;
	} while (!rc);
	buf_reset(&p->raw);
	return rc;
}

static void append(struct pprof *p, const profile_msg *m)
{
	uint8_t *at = buf_room(&p->raw, perftools__profiles__profile__get_packed_size(m));
	if (at)
		p->raw.len += perftools__profiles__profile__pack(m, at);
}

/* Index into string_table; a new string is written at once, hence in the order of its index. */
static int64_t string_n(struct pprof *p, const char *text, size_t n)
{
	size_t before = p->strings.spans_cnt;
	uint32_t id = names_put(&p->strings, text, n);
	if (id == NAMES_FAILED) {
		p->failed = true;
		return 0;
	}
	if (p->strings.spans_cnt != before) {
		profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
		char *one = (char *)names_at(&p->strings, id);
		m.n_string_table = 1;
		m.string_table = &one;
		append(p, &m);
	}
	return id;
}

static int64_t string_of(struct pprof *p, const char *text)
{
	return string_n(p, text, strlen(text));
}

/* Bytes from outside. */
static int64_t string_clean(struct pprof *p, const char *text)
{
	struct buf b = { 0 };
	text_clean(&b, text, SIZE_MAX);
	int64_t id = string_n(p, buf_str(&b), b.len);
	p->failed |= b.failed;
	buf_free(&b);
	return id;
}

/* As the leaf cut, but matched anywhere in a stack. */
static int64_t entries_of(struct pprof *p)
{
	struct buf regex = { 0 };
	alloc_entries_regex(&regex);
	int64_t id = string_of(p, buf_str(&regex));
	p->failed |= regex.failed;
	buf_free(&regex);
	return id;
}

static uint64_t meta_number(const struct catalog *c, const char *key)
{
	const char *text = catalog_meta(c, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

static void add_comment(struct pprof *p, const char *text, size_t n)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	int64_t id = string_n(p, text, n);
	m.n_comment = 1;
	m.comment = &id;
	append(p, &m);
}

static const char *meta_or(const struct catalog *c, const char *key, const char *otherwise)
{
	const char *text = catalog_meta(c, key);
	return text && *text ? text : otherwise;
}

/* The command line is left out: profiles are passed around, and arguments hold secrets. */
static void add_comments(struct pprof *p)
{
	const struct catalog *c = p->in->catalog;
	struct buf plain = { 0 }, b = { 0 };
	buf_addf(&plain, "alys-bpf %s, %s, stacks by %s", meta_or(c, "version", "(unknown version)"),
		 meta_or(c, "sample", "every call"), meta_or(c, "walk", "(unknown walk)"));
	if (catalog_meta(c, "pids"))
		buf_addf(&plain, ", pid=%s", catalog_meta(c, "pids"));
	text_clean(&b, buf_str(&plain), SIZE_MAX);
	buf_u8(&b, '\n');
	if (!p->in->options->from_ns && !p->in->options->until_ns)
		format_before_note(c, &b);
	format_notes(p->in, &b);
	format_errors(p->in, &b);
	p->failed |= plain.failed || b.failed;
	const char *at = buf_str(&b);
	for (const char *end; (end = strchr(at, '\n')); at = end + 1)
		add_comment(p, at, (size_t)(end - at));
	buf_free(&plain);
	buf_free(&b);
}

static void add_sample_types(struct pprof *p)
{
	for (enum value v = 0; v < VALUE_CNT; v++) {
		profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
		Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *one = &type;
		type.type = string_of(p, value_types[v].name);
		type.unit = string_of(p, value_types[v].unit);
		m.n_sample_type = 1;
		m.sample_type = &one;
		append(p, &m);
	}
}

static void add_header(struct pprof *p, enum value standard)
{
	const struct catalog *c = p->in->catalog;
	const struct heap_facts *facts = &p->in->snapshot->facts;
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	uint64_t start = format_start_ns(p->in), end = format_end_ns(p->in);
	uint64_t interval = format_interval(c);
	string_of(p, "");
	add_sample_types(p);
	period.type = string_of(p, "space");
	period.unit = string_of(p, "bytes");
	m.period_type = &period;
	m.period = interval ? (int64_t)interval : 1;
	m.default_sample_type = string_of(p, value_types[standard].name);
	if (p->in->options->moment && end)
		start = end;
	m.time_nanos = (int64_t)(meta_number(c, "start_real_ns") + start - meta_number(c, "start_mono_ns"));
	/* A recording that was killed has no end; its last event then is. */
	start = start ? start : facts->first_ns;
	end = end ? end : facts->last_ns;
	m.duration_nanos = end > start ? (int64_t)(end - start) : 0;
	if (!p->in->options->keep_allocator_frames)
		m.drop_frames = entries_of(p);
	append(p, &m);
	add_comments(p);
}

static uint64_t mapping_id(struct pprof *p, struct map_id map)
{
	uint64_t *index = map.n ? map_put(&p->map_index, map.n) : NULL;
	if (!index) {
		p->failed |= map.n != 0;
		return 0;
	}
	if (!*index) {
		struct used_map *u = VEC_PUSH(p, maps);
		if (!u) {
			p->failed = true;
			return 0;
		}
		u->map = map;
		*index = p->maps_cnt;
	}
	return *index;
}

/* mapping[0] is the main binary by definition, used or not: that of the first process. */
static void put_main_first(struct pprof *p)
{
	const struct catalog *c = p->in->catalog;
	const struct mapping *m;
	size_t i = 0, k = 0;
	const struct proc *proc = catalog_next_proc(c, &i);
	while (proc && proc->exe && (m = catalog_next_mapping(c, &k))) {
		const struct module *module = catalog_module(c, m->module);
		if (m->proc.n == proc->id.n && module && module->path && !strcmp(module->path, proc->exe)) {
			mapping_id(p, m->id);
			return;
		}
	}
}

static void fill_build_id(struct pprof *p, const struct module *module, Perftools__Profiles__Mapping *out)
{
	char hex[2 * BUILD_ID_MAX + 1];
	size_t n = module->build_id_sz <= BUILD_ID_MAX ? module->build_id_sz : BUILD_ID_MAX;
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
	out->build_id = string_n(p, hex, 2 * n);
}

/* All four has_ flags together: what could be resolved is; readers shall not look for the files. */
static void add_mapping(struct pprof *p, uint64_t id, const struct used_map *u)
{
	const struct mapping *map = catalog_mapping(p->in->catalog, u->map);
	const struct module *module = map ? catalog_module(p->in->catalog, map->module) : NULL;
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping one = PERFTOOLS__PROFILES__MAPPING__INIT, *list = &one;
	one.id = id;
	if (map && !p->in->options->no_addresses) {
		one.memory_start = map->start;
		one.memory_limit = map->end;
		/* Files are laid out so that offset = address, unless linked to a fixed place. */
		one.file_offset = map->bias ? map->start - map->bias : 0;
	}
	if (module) {
		one.filename = module->path ? string_clean(p, module->path) : 0;
		fill_build_id(p, module, &one);
	}
	one.has_functions = one.has_filenames = u->symbolized;
	one.has_line_numbers = one.has_inline_frames = u->symbolized;
	m.n_mapping = 1;
	m.mapping = &list;
	append(p, &m);
}

static uint64_t function_id(struct pprof *p, const struct sink_frame *f)
{
	struct buf b = { 0 };
	sink_frame_name(f, &b);
	int64_t name = string_n(p, buf_str(&b), b.len);
	int64_t file = f->symbol && f->symbol->file ? string_clean(p, f->symbol->file) : 0;
	uint64_t *id = b.failed ? NULL : map_put(&p->functions, (uint64_t)name << 32 | (uint64_t)file);
	buf_free(&b);
	if (!id) {
		p->failed = true;
		return 0;
	}
	if (!*id) {
		profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
		Perftools__Profiles__Function one = PERFTOOLS__PROFILES__FUNCTION__INIT, *list = &one;
		*id = p->functions.count;
		one.id = *id;
		one.name = name;
		one.system_name = p->verbatim ? 0 : name;
		one.filename = file;
		m.n_function = 1;
		m.function = &list;
		append(p, &m);
	}
	return *id;
}

/* Of a recording of addresses only, frames stay without names, for the reader to look up. */
static bool is_bare(const struct pprof *p, const struct sink_frame *f)
{
	return !p->resolved && f->module;
}

static void add_lines(struct pprof *p, const struct sink_frame *f, size_t n)
{
	p->lines_cnt = 0;
	for (size_t i = 0; i < n && !is_bare(p, f); i++) {
		Perftools__Profiles__Line *line = VEC_PUSH(p, lines);
		if (!line) {
			p->failed = true;
			return;
		}
		perftools__profiles__line__init(line);
		line->function_id = function_id(p, &f[i]);
		line->line = f[i].symbol ? f[i].symbol->line : 0;
		line->column = f[i].symbol ? f[i].symbol->column : 0;
	}
}

static void add_location(struct pprof *p, uint64_t id, const struct sink_frame *f, size_t n)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location one = PERFTOOLS__PROFILES__LOCATION__INIT, *list = &one;
	add_lines(p, f, n);
	Perftools__Profiles__Line **lines = calloc(p->lines_cnt + 1, sizeof(*lines));
	if (!lines) {
		p->failed = true;
		return;
	}
	for (size_t i = 0; i < p->lines_cnt; i++)
		lines[i] = &p->lines[i];
	one.id = id;
	one.mapping_id = mapping_id(p, f->map);
	one.address = p->in->options->no_addresses ? 0 : f->pc;
	one.n_line = p->lines_cnt;
	one.line = lines;
	m.n_location = 1;
	m.location = &list;
	append(p, &m);
	free(lines);
	if (one.mapping_id && p->lines_cnt)
		p->maps[one.mapping_id - 1].symbolized = true;
}

/* f[0..n) are the source frames of one machine address. */
static uint64_t location_id(struct pprof *p, const struct sink_frame *f, size_t n)
{
	struct location_key key = {
		.pc = f->pc,
		.map = f->map.n,
		.lines = n,
		.text = f->map.n ? 0 : (uintptr_t)f->symbol,
	};
	size_t before = p->locations.spans_cnt;
	uint32_t id = names_put(&p->locations, &key, sizeof(key));
	if (id == NAMES_FAILED) {
		p->failed = true;
		return 0;
	}
	if (p->locations.spans_cnt != before)
		add_location(p, id + 1ull, f, n);
	return id + 1ull;
}

static void collect_locations(struct pprof *p, const struct sink_stack *s)
{
	p->ids_cnt = 0;
	for (size_t i = 0, n; i < s->frames_cnt; i += n) {
		n = 1;
		while (i + n < s->frames_cnt && s->frames[i + n - 1].inlined)
			n++;
		uint64_t *id = VEC_PUSH(p, ids);
		if (!id) {
			p->failed = true;
			return;
		}
		*id = location_id(p, &s->frames[i], n);
	}
}

static void add_sample(struct pprof *p, const struct snapshot_row *row, const struct sink_stack *stack)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample one = PERFTOOLS__PROFILES__SAMPLE__INIT, *list = &one;
	Perftools__Profiles__Label label = PERFTOOLS__PROFILES__LABEL__INIT, *labels = &label;
	const struct proc *proc = catalog_proc(p->in->catalog, row->proc);
	int64_t values[VALUE_CNT], any = 0;
	for (enum value v = 0; v < VALUE_CNT; v++)
		any |= values[v] = value_of(&row->t, v);
	if (!any)
		return;
	collect_locations(p, stack);
	one.n_location_id = p->ids_cnt;
	one.location_id = p->ids;
	one.n_value = VALUE_CNT;
	one.value = values;
	if (p->several && proc) {
		label.key = string_of(p, "pid");
		label.num = proc->tgid;
		one.n_label = 1;
		one.label = &labels;
	}
	m.n_sample = 1;
	m.sample = &list;
	append(p, &m);
}

/* exec gives a process a new id but not a new number. */
static bool several_processes(const struct sink_input *in)
{
	uint32_t first = 0;
	for (size_t i = 0; i < in->snapshot->n; i++) {
		const struct proc *proc = catalog_proc(in->catalog, in->snapshot->rows[i].proc);
		if (!proc)
			continue;
		if (first && proc->tgid != first)
			return true;
		first = proc->tgid;
	}
	return false;
}

static int add_samples(struct pprof *p, const struct fold *order)
{
	struct sink_stack stack = { 0 };
	int rc = 0;
	for (size_t i = 0; !rc && i < order->stacks_cnt; i++) {
		const struct snapshot_row *row = &p->in->snapshot->rows[order->stacks[i].row];
		p->failed |= sink_stack_of(p->in->catalog, p->in->options, row->stack, &stack) != 0;
		if (!p->failed)
			add_sample(p, row, &stack);
		if (p->failed || p->raw.failed)
			rc = err_set(p->err, ENOMEM, "out of memory while writing the profile");
		else if (p->raw.len >= FLUSH_SZ)
			rc = deflate_raw(p, Z_NO_FLUSH);
	}
	sink_stack_free(&stack);
	return rc;
}

static int64_t held(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* A location that is no address. */
static uint64_t before_location(struct pprof *p, const struct before_row *row)
{
	struct location_key key = { .text = (uintptr_t)row->type };
	struct buf name = { 0 };
	size_t known = p->locations.spans_cnt;
	uint32_t id = names_put(&p->locations, &key, sizeof(key));
	p->failed |= id == NAMES_FAILED;
	if (p->locations.spans_cnt != known) {
		format_before_name(row, &name);
		struct symbol symbol = { .name = buf_str(&name), .quality = SYMBOL_MODULE };
		struct sink_frame frame = { .symbol = &symbol };
		p->verbatim = true;
		add_location(p, id + 1ull, &frame, 1);
		p->verbatim = false;
		buf_free(&name);
	}
	return id + 1ull;
}

/* Of the collector's marks a type is known and no stack: in use, and allocated at no time of the recording. */
static void add_before(struct pprof *p)
{
	const struct sink_options *o = p->in->options;
	size_t n = 0;
	struct before_row *rows = o->from_ns || o->until_ns ? NULL : format_before_rows(p->in->catalog, &n);
	for (size_t i = 0; i < n; i++) {
		profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
		Perftools__Profiles__Sample one = PERFTOOLS__PROFILES__SAMPLE__INIT, *list = &one;
		uint64_t id = before_location(p, &rows[i]);
		int64_t values[VALUE_CNT] = { [VALUE_INUSE_OBJECTS] = held(rows[i].cnt), [VALUE_INUSE_SPACE] = held(rows[i].sz) };
		one.n_location_id = 1;
		one.location_id = &id;
		one.n_value = VALUE_CNT;
		one.value = values;
		m.n_sample = 1;
		m.sample = &list;
		append(p, &m);
	}
	free(rows);
}

static int write_profile(struct pprof *p, enum value v)
{
	struct fold order = { 0 };
	int rc = fold_fill(&order, p->in, v) ? err_set(p->err, ENOMEM, "out of memory for the stacks") : 0;
	if (!rc) {
		fold_rank(&order);
		p->resolved = order.resolved;
		add_header(p, v);
		put_main_first(p);
		rc = add_samples(p, &order);
		add_before(p);
	}
	fold_free(&order);
	for (size_t i = 0; !rc && i < p->maps_cnt; i++)
		add_mapping(p, i + 1, &p->maps[i]);
	if (!rc && (p->failed || p->raw.failed))
		rc = err_set(p->err, ENOMEM, "out of memory while writing the profile");
	return rc ? rc : deflate_raw(p, Z_FINISH);
}

static int pprof_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct pprof p = { .in = in, .out = out, .err = err, .several = several_processes(in) };
	enum value v;
	int rc = value_choose(in->options, VALUE_INUSE_SPACE, &v, err);
	if (rc)
		return rc;
	/* 15 + 16: the largest window, as gzip, whose header zlib leaves without time and name. */
	if (deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, ENOMEM, "out of memory for zlib");
	rc = write_profile(&p, v);
	deflateEnd(&p.z);
	buf_free(&p.raw);
	buf_free(&p.packed);
	names_free(&p.strings);
	names_free(&p.locations);
	map_free(&p.functions);
	map_free(&p.map_index);
	free(p.maps);
	free(p.ids);
	free(p.lines);
	return rc;
}

const struct sink_ops sink_pprof = {
	.name = "pprof",
	.ext = ".pb.gz",
	.mime = "application/octet-stream",
	.binary = true,
	.render = pprof_render,
};
