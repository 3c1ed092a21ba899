/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles/pprof: the snapshot as gzipped profile.proto. Each element is packed as a Profile of its own and appended:
 * concatenated protobuf messages are one message, so the whole is never in memory. Ids are 1, 2, 3... in order of first
 * use, because Parca refuses others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "allocators/allocators.h"
#include "catalog/attributes.h"
#include "format/fold.h"
#include "profiles/dictionary.h"
#include "profiles/header.h"
#include "profiles/profiles.h"
#include "user/output/profiles/pprof.pb-c.h"

#define FLUSH_SZ (256 * 1024)
/* Of a sample: pid, exe, build_id and service_name among them. */
#define LABELS_MAX 36

typedef Perftools__Profiles__Profile profile_msg;

struct label_set {
	Perftools__Profiles__Label labels[LABELS_MAX], *list[LABELS_MAX];
	size_t cnt;
};

struct pprof {
	const struct sink_input *in;
	struct sink_out *out;
	struct err *err;
	z_stream z;
	struct buf raw, packed;
	struct dictionary d;
	struct proc_id labelled; /* the process that `labels` are of */
	struct label_set labels;
	bool verbatim; /* names contain parentheses at which go tool pprof would cut them if it took them for symbols */
	bool several;  /* more than one process */
	bool failed;   /* out of memory */
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

static void write_string(void *writer, const char *text)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *one = (char *)text;
	m.n_string_table = 1;
	m.string_table = &one;
	append(writer, &m);
}

static void write_function(void *writer, uint64_t id, int64_t name, int64_t file)
{
	struct pprof *p = writer;
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function one = PERFTOOLS__PROFILES__FUNCTION__INIT, *list = &one;
	one.id = id;
	one.name = name;
	one.system_name = p->verbatim ? 0 : name;
	one.filename = file;
	m.n_function = 1;
	m.function = &list;
	append(p, &m);
}

static void write_location(void *writer, uint64_t id, const struct dictionary_location *l)
{
	struct pprof *p = writer;
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location one = PERFTOOLS__PROFILES__LOCATION__INIT, *list = &one;
	Perftools__Profiles__Line *lines = calloc(l->lines_cnt + 1, sizeof(*lines)), **at = calloc(l->lines_cnt + 1, sizeof(*at));
	p->failed |= !lines || !at;
	for (size_t i = 0; !p->failed && i < l->lines_cnt; i++) {
		perftools__profiles__line__init(&lines[i]);
		lines[i].function_id = l->lines[i].function;
		lines[i].line = l->lines[i].line;
		lines[i].column = l->lines[i].column;
		at[i] = &lines[i];
	}
	one.id = id;
	one.mapping_id = l->mapping;
	one.address = l->address;
	one.n_line = l->lines_cnt;
	one.line = at;
	m.n_location = 1;
	m.location = &list;
	if (!p->failed)
		append(p, &m);
	free(lines);
	free(at);
}

/* The four has_ flags are set together: everything that could be resolved is, and readers need not look for files. */
static void write_mapping(void *writer, uint64_t id, const struct dictionary_mapping *from)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping one = PERFTOOLS__PROFILES__MAPPING__INIT, *list = &one;
	one.id = id;
	one.memory_start = from->start;
	one.memory_limit = from->limit;
	one.file_offset = from->file_offset;
	one.filename = from->filename;
	one.build_id = from->build_id;
	one.has_functions = one.has_filenames = from->symbolized;
	one.has_line_numbers = one.has_inline_frames = from->symbolized;
	m.n_mapping = 1;
	m.mapping = &list;
	append(writer, &m);
}

static const struct dictionary_ops ops = { write_string, write_function, write_location, write_mapping };

/* Matches the frames that are cut off the leaf, but anywhere in a stack. */
static int64_t entries_of(struct pprof *p)
{
	struct buf regex = { 0 };
	alloc_entries_regex(&regex);
	int64_t id = dictionary_string(&p->d, buf_str(&regex));
	p->failed |= regex.failed;
	buf_free(&regex);
	return id;
}

static void add_comments(struct pprof *p, struct profile_header *h)
{
	size_t at = 0;
	for (const char *line; (line = profile_header_next(h, &at));) {
		profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
		int64_t id = dictionary_string(&p->d, line);
		m.n_comment = 1;
		m.comment = &id;
		append(p, &m);
	}
}

static void add_sample_types(struct pprof *p)
{
	const struct value_type *types = format_value_types(p->in->catalog);
	for (enum value v = 0; v < VALUE_CNT; v++) {
		profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
		Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT, *one = &type;
		type.type = dictionary_string(&p->d, types[v].name);
		type.unit = dictionary_string(&p->d, types[v].unit);
		m.n_sample_type = 1;
		m.sample_type = &one;
		append(p, &m);
	}
}

static void add_header(struct pprof *p, enum value standard)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	struct profile_header h;
	p->failed |= profile_header_fill(p->in, &h) != 0;
	add_sample_types(p);
	period.type = dictionary_string(&p->d, "space");
	period.unit = dictionary_string(&p->d, "bytes");
	m.period_type = &period;
	m.period = h.period;
	m.default_sample_type = dictionary_string(&p->d, format_value_types(p->in->catalog)[standard].name);
	m.time_nanos = (int64_t)h.time_ns;
	m.duration_nanos = (int64_t)h.duration_ns;
	if (!p->in->options->keep_allocator_frames)
		m.drop_frames = entries_of(p);
	append(p, &m);
	add_comments(p, &h);
	profile_header_free(&h);
}

/* The sample's stack is the last one passed to the dictionary. */
static void append_sample(struct pprof *p, int64_t values[VALUE_CNT], Perftools__Profiles__Label **labels, size_t labels_cnt)
{
	profile_msg m = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample one = PERFTOOLS__PROFILES__SAMPLE__INIT, *list = &one;
	one.n_location_id = p->d.ids_cnt;
	one.location_id = p->d.ids;
	one.n_value = VALUE_CNT;
	one.value = values;
	one.n_label = labels_cnt;
	one.label = labels;
	m.n_sample = 1;
	m.sample = &list;
	append(p, &m);
}

static Perftools__Profiles__Label *add_label(struct pprof *p, const char *key)
{
	struct label_set *set = &p->labels;
	Perftools__Profiles__Label *l = &set->labels[set->cnt];
	perftools__profiles__label__init(l);
	l->key = dictionary_string(&p->d, key);
	set->list[set->cnt++] = l;
	return l;
}

/* Of one process, the number is the caller's choice, and mapping 1 is its program. */
static void label_program(struct pprof *p, const struct proc *proc)
{
	char build_id[BUILD_ID_TEXT];
	add_label(p, "pid")->num = proc->tgid;
	if (*proc->exe)
		add_label(p, "exe")->str = dictionary_clean(&p->d, proc->exe);
	if (*catalog_build_id(p->in->catalog, proc, build_id))
		add_label(p, "build_id")->str = dictionary_string(&p->d, build_id);
}

/* What the process is known by. */
static void label_process(struct pprof *p, const struct proc *proc)
{
	struct attribute a;
	p->labelled = proc->id;
	p->labels.cnt = 0;
	if (p->several)
		label_program(p, proc);
	if (attributes_get(proc->attributes, "service.name", &a))
		add_label(p, "service_name")->str = dictionary_clean(&p->d, a.value);
	for (size_t at = 0; proc->attributes && p->labels.cnt < LABELS_MAX && attributes_next_label(proc->attributes, &at, &a);)
		add_label(p, a.name)->str = dictionary_clean(&p->d, a.value);
}

static void append_labelled(struct pprof *p, struct proc_id id, int64_t values[VALUE_CNT])
{
	const struct proc *proc = catalog_proc(p->in->catalog, id);
	if (proc && proc->id.n != p->labelled.n)
		label_process(p, proc);
	append_sample(p, values, p->labels.list, proc ? p->labels.cnt : 0);
}

static void add_sample(struct pprof *p, const struct snapshot_row *row, const struct sink_stack *stack)
{
	int64_t values[VALUE_CNT];
	if (!format_values(p->in->catalog, &row->t, values))
		return;
	dictionary_stack(&p->d, stack);
	append_labelled(p, row->proc, values);
}

/* Compares pids, since exec gives a process a new id. */
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

static bool is_failed(const struct pprof *p)
{
	return p->failed || p->raw.failed || p->d.failed;
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
		if (is_failed(p))
			rc = err_set(p->err, ENOMEM, "out of memory while writing the profile");
		else if (p->raw.len >= FLUSH_SZ)
			rc = deflate_raw(p, Z_NO_FLUSH);
	}
	sink_stack_free(&stack);
	return rc;
}

static void add_before(struct pprof *p)
{
	size_t n = 0;
	struct before_row *rows = dictionary_before_rows(&p->d, &n);
	p->verbatim = true;
	for (size_t i = 0; i < n; i++) {
		int64_t values[VALUE_CNT];
		dictionary_before(&p->d, &rows[i], values);
		append_labelled(p, rows[i].proc, values);
	}
	p->verbatim = false;
	free(rows);
}

static int write_profile(struct pprof *p, enum value v)
{
	struct fold order = { 0 };
	int rc = fold_fill(&order, p->in, v) ? err_set(p->err, ENOMEM, "out of memory for the stacks") : 0;
	if (!rc) {
		fold_rank(&order);
		p->d.resolved = order.resolved;
		dictionary_begin(&p->d);
		add_header(p, v);
		rc = add_samples(p, &order);
		add_before(p);
		dictionary_end(&p->d);
	}
	fold_free(&order);
	if (!rc && is_failed(p))
		rc = err_set(p->err, ENOMEM, "out of memory while writing the profile");
	return rc ? rc : deflate_raw(p, Z_FINISH);
}

static int pprof_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct pprof p = { .in = in, .out = out, .err = err, .several = several_processes(in) };
	p.d = (struct dictionary){ .in = in, .ops = &ops, .writer = &p };
	enum value v;
	int rc = value_choose(in->options, value_standard(in), &v, err);
	if (rc)
		return rc;
	/* 15 + 16: the largest window, and a gzip header, which zlib writes without time and name. */
	if (deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, ENOMEM, "out of memory for zlib");
	rc = write_profile(&p, v);
	deflateEnd(&p.z);
	buf_free(&p.raw);
	buf_free(&p.packed);
	dictionary_free(&p.d);
	return rc;
}

const struct sink_ops sink_pprof = {
	.name = "pprof",
	.ext = ".pb.gz",
	.mime = "application/octet-stream",
	.binary = true,
	.render = pprof_render,
};
