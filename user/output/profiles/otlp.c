/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles/otlp: the snapshot as OTLP ProfilesData, uncompressed: one resource per process, in it one profile per
 * sample type, the chosen one first; one dictionary for all. Attributes are named as in the OpenTelemetry semantic
 * conventions. A message is preceded by its length, so the packed dictionary and samples are kept in memory until they
 * are complete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "catalog/attributes.h"
#include "format/fold.h"
#include "profiles/dictionary.h"
#include "profiles/header.h"
#include "profiles/packing.h"
#include "profiles/profiles.h"
#include "user/output/profiles/otlp.pb-c.h"

/* Field numbers of the messages whose nesting is written by hand. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2, RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_SCOPES = 2, SCOPE_PROFILES = 2 };
enum { COMMENTS_MAX = 64 };
/* Fixed entries of attribute_table; build ids follow. */
enum { ATTRIBUTE_NATIVE = 1, ATTRIBUTE_COMMENTS, ATTRIBUTES };

struct otlp {
	const struct sink_input *in;
	struct dictionary d;
	struct profile_header header;
	struct buf dictionary;      /* packed */
	struct names stacks;        /* location indices -> number - 1 */
	struct processes processes; /* a resource each */
	int32_t attributes;         /* entries of attribute_table */
	enum value first;
	bool failed;
};

static void append(struct otlp *o, struct buf *to, const ProtobufCMessage *m)
{
	pack_message(to, m);
	o->failed |= to->failed;
}

static void write_entry(struct otlp *o, const Otlp__ProfilesDictionary *entry)
{
	append(o, &o->dictionary, &entry->base);
}

static void write_string(void *writer, const char *text)
{
	Otlp__ProfilesDictionary entry = OTLP__PROFILES_DICTIONARY__INIT;
	char *one = (char *)text;
	entry.n_string_table = 1;
	entry.string_table = &one;
	write_entry(writer, &entry);
}

static void write_function(void *writer, uint64_t id, int64_t name, int64_t file)
{
	Otlp__ProfilesDictionary entry = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Function one = OTLP__FUNCTION__INIT, *list = &one;
	(void)id; /* ids are implied by the order of entries */
	one.name_strindex = (int32_t)name;
	one.filename_strindex = (int32_t)file;
	entry.n_function_table = 1;
	entry.function_table = &list;
	write_entry(writer, &entry);
}

static void write_lines(struct otlp *o, Otlp__Location *to, const struct dictionary_location *from)
{
	Otlp__ProfilesDictionary entry = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Line *lines = calloc(from->lines_cnt + 1, sizeof(*lines)), **at = calloc(from->lines_cnt + 1, sizeof(*at));
	o->failed |= !lines || !at;
	for (size_t i = 0; !o->failed && i < from->lines_cnt; i++) {
		otlp__line__init(&lines[i]);
		lines[i].function_index = (int32_t)from->lines[i].function;
		lines[i].line = from->lines[i].line;
		lines[i].column = from->lines[i].column;
		at[i] = &lines[i];
	}
	to->n_lines = from->lines_cnt;
	to->lines = at;
	entry.n_location_table = 1;
	entry.location_table = &to;
	if (!o->failed)
		write_entry(o, &entry);
	free(lines);
	free(at);
}

static void write_location(void *writer, uint64_t id, const struct dictionary_location *from)
{
	Otlp__Location one = OTLP__LOCATION__INIT;
	int32_t native = ATTRIBUTE_NATIVE;
	(void)id;
	one.mapping_index = (int32_t)from->mapping;
	one.address = from->address;
	one.n_attribute_indices = from->mapping != 0;
	one.attribute_indices = &native;
	write_lines(writer, &one, from);
}

static void write_attribute(struct otlp *o, int64_t key, Otlp__AnyValue *value)
{
	Otlp__ProfilesDictionary entry = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__KeyValueAndUnit one = OTLP__KEY_VALUE_AND_UNIT__INIT, *list = &one;
	one.key_strindex = (int32_t)key;
	one.value = value;
	entry.n_attribute_table = 1;
	entry.attribute_table = &list;
	write_entry(o, &entry);
	o->attributes++;
}

static Otlp__AnyValue text_value(const char *text)
{
	Otlp__AnyValue v = OTLP__ANY_VALUE__INIT;
	v.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	v.string_value = (char *)text;
	return v;
}

static void write_mapping(void *writer, uint64_t id, const struct dictionary_mapping *from)
{
	struct otlp *o = writer;
	Otlp__ProfilesDictionary entry = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Mapping one = OTLP__MAPPING__INIT, *list = &one;
	int32_t build_id = o->attributes;
	(void)id;
	if (from->build_id) {
		int64_t key = dictionary_string(&o->d, "process.executable.build_id.gnu");
		Otlp__AnyValue value = text_value(names_at(&o->d.strings, (uint32_t)from->build_id));
		write_attribute(o, key, &value);
		one.n_attribute_indices = 1;
		one.attribute_indices = &build_id;
	}
	one.memory_start = from->start;
	one.memory_limit = from->limit;
	one.file_offset = from->file_offset;
	one.filename_strindex = (int32_t)from->filename;
	entry.n_mapping_table = 1;
	entry.mapping_table = &list;
	write_entry(o, &entry);
}

static const struct dictionary_ops ops = { write_string, write_function, write_location, write_mapping };

static void write_comments(struct otlp *o)
{
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	Otlp__ArrayValue array = OTLP__ARRAY_VALUE__INIT;
	Otlp__AnyValue lines[COMMENTS_MAX], *at[COMMENTS_MAX];
	size_t n = 0, from = 0;
	for (const char *line; n < COMMENTS_MAX && (line = profile_header_next(&o->header, &from)); n++) {
		lines[n] = text_value(line);
		at[n] = &lines[n];
	}
	array.n_values = n;
	array.values = at;
	value.value_case = OTLP__ANY_VALUE__VALUE_ARRAY_VALUE;
	value.array_value = &array;
	write_attribute(o, dictionary_string(&o->d, "pprof.profile.comment"), &value);
}

/* Entry 0 of each table, which means none, and the attributes with fixed indices. */
static void begin(struct otlp *o)
{
	Otlp__ProfilesDictionary none = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mappings = &mapping;
	Otlp__Location location = OTLP__LOCATION__INIT, *locations = &location;
	Otlp__Function function = OTLP__FUNCTION__INIT, *functions = &function;
	Otlp__Link link = OTLP__LINK__INIT, *links = &link;
	Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *attributes = &attribute;
	Otlp__Stack stack = OTLP__STACK__INIT, *stacks = &stack;
	none.n_mapping_table = none.n_location_table = none.n_function_table = 1;
	none.n_link_table = none.n_attribute_table = none.n_stack_table = 1;
	none.mapping_table = &mappings;
	none.location_table = &locations;
	none.function_table = &functions;
	none.link_table = &links;
	none.attribute_table = &attributes;
	none.stack_table = &stacks;
	write_entry(o, &none);
	o->attributes = 1;
	dictionary_begin(&o->d);
	Otlp__AnyValue native = text_value("native");
	write_attribute(o, dictionary_string(&o->d, "profile.frame.type"), &native);
	write_comments(o);
}

/* The index of the stack whose locations are d.ids. */
static int32_t stack_of(struct otlp *o)
{
	int32_t *indices = calloc(o->d.ids_cnt + 1, sizeof(*indices));
	size_t known = o->stacks.spans_cnt;
	if (!indices) {
		o->failed = true;
		return 0;
	}
	for (size_t i = 0; i < o->d.ids_cnt; i++)
		indices[i] = (int32_t)o->d.ids[i];
	uint32_t id = names_put(&o->stacks, indices, o->d.ids_cnt * sizeof(*indices));
	o->failed |= id == NAMES_FAILED;
	if (o->stacks.spans_cnt != known) {
		Otlp__ProfilesDictionary entry = OTLP__PROFILES_DICTIONARY__INIT;
		Otlp__Stack one = OTLP__STACK__INIT, *list = &one;
		one.n_location_indices = o->d.ids_cnt;
		one.location_indices = indices;
		entry.n_stack_table = 1;
		entry.stack_table = &list;
		write_entry(o, &entry);
	}
	free(indices);
	return (int32_t)id + 1;
}

static void add_values(struct otlp *o, struct proc_id proc, const int64_t values[VALUE_CNT])
{
	struct process_samples *r = processes_get(&o->processes, proc);
	int32_t stack = r ? stack_of(o) : 0;
	o->failed |= !r;
	for (enum value v = 0; r && v < VALUE_CNT; v++) {
		Otlp__Profile samples = OTLP__PROFILE__INIT;
		Otlp__Sample one = OTLP__SAMPLE__INIT, *list = &one;
		int64_t value = values[v];
		if (!value)
			continue;
		one.stack_index = stack;
		one.n_values = 1;
		one.values = &value;
		samples.n_samples = 1;
		samples.samples = &list;
		append(o, &r->samples[v], &samples.base);
	}
}

static void add_rows(struct otlp *o, const struct fold *order)
{
	struct sink_stack stack = { 0 };
	for (size_t i = 0; !o->failed && !o->d.failed && i < order->stacks_cnt; i++) {
		const struct snapshot_row *row = &o->in->snapshot->rows[order->stacks[i].row];
		int64_t values[VALUE_CNT];
		format_values(o->in->catalog, &row->t, values);
		o->failed |= sink_stack_of(o->in->catalog, o->in->options, row->stack, &stack) != 0;
		if (o->failed)
			break;
		dictionary_stack(&o->d, &stack);
		add_values(o, row->proc, values);
	}
	sink_stack_free(&stack);
}

/* Those whose process is not known are in a resource without identity. */
static void add_before(struct otlp *o)
{
	size_t n = 0;
	struct before_row *rows = dictionary_before_rows(&o->d, &n);
	for (size_t i = 0; i < n; i++) {
		int64_t values[VALUE_CNT];
		dictionary_before(&o->d, &rows[i], values);
		add_values(o, rows[i].proc, values);
	}
	free(rows);
}

/* What a sample is drawn by. The first is that of the heap example in profiles.proto. */
static const char *period_name(const struct catalog *c)
{
	static const char *const names[SUBJECT_CNT] = {
		[SUBJECT_ALLOCATIONS] = "allocated_bytes",
		[SUBJECT_PAGES] = "touched_bytes",
		[SUBJECT_MAPPINGS] = "mapped_bytes",
	};
	return names[catalog_subject(c)];
}

static void add_profile(struct otlp *o, const struct process_samples *r, enum value v, struct buf *scope)
{
	Otlp__Profile m = OTLP__PROFILE__INIT;
	Otlp__ValueType type = OTLP__VALUE_TYPE__INIT, period = OTLP__VALUE_TYPE__INIT;
	int32_t comments = ATTRIBUTE_COMMENTS;
	struct buf b = { 0 };
	type.type_strindex = (int32_t)dictionary_string(&o->d, format_value_types(o->in->catalog)[v].name);
	type.unit_strindex = (int32_t)dictionary_string(&o->d, format_value_types(o->in->catalog)[v].unit);
	period.type_strindex = (int32_t)dictionary_string(&o->d, period_name(o->in->catalog));
	period.unit_strindex = (int32_t)dictionary_string(&o->d, "bytes");
	m.sample_type = &type;
	m.period_type = &period;
	m.period = o->header.period;
	/* What is in use is so at a moment; a duration would make it a difference, to be added up. */
	bool in_use = v == VALUE_INUSE_SPACE || v == VALUE_INUSE_OBJECTS;
	m.time_unix_nano = o->header.time_ns + (in_use && !o->in->options->moment ? o->header.duration_ns : 0);
	m.duration_nano = in_use ? 0 : o->header.duration_ns;
	m.n_attribute_indices = 1;
	m.attribute_indices = &comments;
	append(o, &b, &m.base);
	buf_add(&b, r->samples[v].data, r->samples[v].len);
	pack_nested(scope, SCOPE_PROFILES, &b);
	o->failed |= b.failed || scope->failed;
	buf_free(&b);
}

/* Text, or a number where that is NULL. As a Resource of its own: messages one after the other are one message. */
static void add_attribute(struct otlp *o, struct buf *out, const char *name, const char *text, int64_t number)
{
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__KeyValue pair = OTLP__KEY_VALUE__INIT, *list = &pair;
	struct buf key = { 0 }, cleaned = { 0 };
	text_clean(&key, name, SIZE_MAX);
	text_clean(&cleaned, text ? text : "", SIZE_MAX);
	Otlp__AnyValue value = text_value(buf_str(&cleaned));
	if (!text) {
		value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		value.int_value = number;
	}
	pair.key = (char *)buf_str(&key);
	pair.value = &value;
	resource.n_attributes = 1;
	resource.attributes = &list;
	append(o, out, &resource.base);
	o->failed |= key.failed || cleaned.failed;
	buf_free(&key);
	buf_free(&cleaned);
}

/* What we know ourselves: an attribute may be there once only. */
static bool is_own(const char *name)
{
	static const char *const own[] = { "process.pid", "process.executable.name", "process.executable.path",
					   "process.executable.build_id.gnu" };
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (!strcmp(name, own[i]))
			return true;
	}
	return false;
}

static void add_identity(struct otlp *o, const struct proc *proc, struct buf *out)
{
	char build_id[BUILD_ID_TEXT];
	struct buf resource = { 0 };
	struct attribute a;
	if (!attributes_get(proc->attributes, "service.name", &a))
		add_attribute(o, &resource, "service.name", proc->comm, 0);
	for (size_t at = 0; attributes_next(proc->attributes, &at, &a);) {
		if (!is_own(a.name))
			add_attribute(o, &resource, a.name, a.value, 0);
	}
	add_attribute(o, &resource, "process.pid", NULL, proc->tgid);
	add_attribute(o, &resource, "process.executable.name", format_basename(proc->exe), 0);
	add_attribute(o, &resource, "process.executable.path", proc->exe, 0);
	if (*catalog_build_id(o->in->catalog, proc, build_id))
		add_attribute(o, &resource, "process.executable.build_id.gnu", build_id, 0);
	pack_nested(out, RESOURCE_PROFILES_RESOURCE, &resource);
	o->failed |= resource.failed || out->failed;
	buf_free(&resource);
}

static void add_resource(struct otlp *o, const struct process_samples *r, struct buf *data)
{
	Otlp__ScopeProfiles scope = OTLP__SCOPE_PROFILES__INIT;
	Otlp__InstrumentationScope name = OTLP__INSTRUMENTATION_SCOPE__INIT;
	const char *version = catalog_meta(o->in->catalog, "version");
	const struct proc *proc = catalog_proc(o->in->catalog, r->proc);
	struct buf profiles = { 0 }, b = { 0 }, cleaned = { 0 };
	text_clean(&cleaned, version ? version : "", SIZE_MAX);
	name.name = (char *)"alys-bpf";
	name.version = (char *)buf_str(&cleaned);
	scope.scope = &name;
	append(o, &profiles, &scope.base);
	add_profile(o, r, o->first, &profiles);
	for (enum value v = 0; v < VALUE_CNT; v++) {
		if (v != o->first)
			add_profile(o, r, v, &profiles);
	}
	if (proc)
		add_identity(o, proc, &b);
	pack_nested(&b, RESOURCE_SCOPES, &profiles);
	pack_nested(data, DATA_RESOURCE_PROFILES, &b);
	o->failed |= b.failed || data->failed || cleaned.failed;
	buf_free(&cleaned);
	buf_free(&profiles);
	buf_free(&b);
}

static int write_data(struct otlp *o, struct sink_out *out, struct err *err)
{
	struct buf data = { 0 };
	for (size_t i = 0; i < o->processes.list_cnt; i++)
		add_resource(o, &o->processes.list[i], &data);
	dictionary_end(&o->d);
	pack_nested(&data, DATA_DICTIONARY, &o->dictionary);
	int rc = o->failed || o->d.failed ? err_set(err, ENOMEM, "out of memory while writing the profiles")
					  : format_flush(out, &data, err);
	buf_free(&data);
	return rc;
}

static void release(struct otlp *o)
{
	processes_free(&o->processes);
	names_free(&o->stacks);
	buf_free(&o->dictionary);
	profile_header_free(&o->header);
	dictionary_free(&o->d);
}

static int otlp_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct otlp o = { .in = in };
	struct fold order = { 0 };
	int rc = value_choose(in->options, value_standard(in), &o.first, err);
	if (rc)
		return rc;
	o.d = (struct dictionary){ .in = in, .ops = &ops, .writer = &o };
	if (fold_fill(&order, in, o.first) || profile_header_fill(in, &o.header)) {
		rc = err_set(err, ENOMEM, "out of memory for the stacks");
	} else {
		fold_rank(&order);
		o.d.resolved = order.resolved;
		begin(&o);
		add_rows(&o, &order);
		add_before(&o);
		rc = write_data(&o, out, err);
	}
	fold_free(&order);
	release(&o);
	return rc;
}

const struct sink_ops sink_otlp = {
	.name = "otlp",
	.ext = ".otlp.pb",
	.mime = "application/x-protobuf",
	.binary = true,
	.render = otlp_render,
};
