/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles/perfetto: the snapshot as a Perfetto trace: one heap dump per process, at the end of the recording, as
 * heapprofd writes them. Source: github.com/google/perfetto, protos/perfetto/trace; what readers insist on is in
 * src/trace_processor/importers/proto (profile_packet_sequence_state.cc, stack_profile_sequence_state.cc): every frame
 * is in a mapping, and a call stack occurs once per process and dump. What the recording says of itself (lost events,
 * coverage, errors) is a track of instant events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/fold.h"
#include "profiles/dictionary.h"
#include "profiles/header.h"
#include "profiles/packing.h"
#include "profiles/profiles.h"
#include "user/output/profiles/perfetto.pb-c.h"

/* Field numbers of the messages whose nesting is written by hand. */
enum { TRACE_PACKET = 1, PACKET_INTERNED_DATA = 12, PACKET_PROFILE = 37, PROFILE_DUMPS = 5 };
enum { SEQUENCE = 1, STATE_CLEARED = 1, NEEDS_STATE = 2, NOTES_TRACK = 1 };
/* The mapping of frames in no file. Numbers of the dictionary's mappings follow. */
enum { NO_FILE = 1 };

typedef Perfetto__Protos__TracePacket packet_msg;
typedef Perfetto__Protos__InternedData interned_msg;

struct frame_range {
	uint64_t first; /* the innermost function's frame */
	size_t cnt;
};

struct perfetto {
	const struct sink_input *in;
	struct dictionary d;
	struct profile_header header;
	struct buf data;     /* the trace */
	struct buf interned; /* an InternedData message */
	struct frame_range *locations;
	size_t locations_cnt, locations_cap;
	uint64_t frames, callstacks;
	struct processes processes;
	bool failed;
};

static void intern(struct perfetto *p, const interned_msg *m)
{
	pack_message(&p->interned, &m->base);
}

static Perfetto__Protos__InternedString string_of(uint64_t iid, const void *bytes, size_t n)
{
	Perfetto__Protos__InternedString s = PERFETTO__PROTOS__INTERNED_STRING__INIT;
	s.has_iid = s.has_str = true;
	s.iid = iid;
	s.str = (ProtobufCBinaryData){ .len = n, .data = (uint8_t *)bytes };
	return s;
}

static const char *text_at(const struct perfetto *p, int64_t string)
{
	return names_at(&p->d.strings, (uint32_t)string);
}

/* Strings are written with what refers to them: each kind has numbers of its own. */
static void write_string(void *writer, const char *text)
{
	(void)writer;
	(void)text;
}

static void write_function(void *writer, uint64_t id, int64_t name, int64_t file)
{
	struct perfetto *p = writer;
	const char *name_text = text_at(p, name), *file_text = text_at(p, file);
	interned_msg m = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__InternedString function = string_of(id, name_text, strlen(name_text)), *functions = &function;
	Perfetto__Protos__InternedString source = string_of(id, file_text, strlen(file_text)), *sources = &source;
	m.n_function_names = m.n_source_paths = 1;
	m.function_names = &functions;
	m.source_paths = &sources;
	intern(p, &m);
}

/* Files are linked to start at address 0, or the mapping knows by how much it differs. */
static uint64_t address_in_file(const struct perfetto *p, const struct dictionary_location *l)
{
	const struct mapping *m = l->mapping ? catalog_mapping(p->in->catalog, p->d.maps[l->mapping - 1].map) : NULL;
	return m && l->address ? l->address - m->bias : l->address;
}

static void write_frame(struct perfetto *p, const struct dictionary_location *l, const struct dictionary_line *line)
{
	interned_msg m = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Frame frame = PERFETTO__PROTOS__FRAME__INIT, *frames = &frame;
	frame.has_iid = frame.has_mapping_id = frame.has_rel_pc = true;
	frame.iid = ++p->frames;
	frame.mapping_id = NO_FILE + l->mapping;
	frame.rel_pc = address_in_file(p, l);
	if (line) {
		frame.has_function_name_id = frame.has_source_path_iid = true;
		frame.function_name_id = frame.source_path_iid = line->function;
		frame.has_line_number = line->line != 0;
		frame.line_number = line->line;
	}
	m.n_frames = 1;
	m.frames = &frames;
	intern(p, &m);
}

static void write_location(void *writer, uint64_t id, const struct dictionary_location *l)
{
	struct perfetto *p = writer;
	struct frame_range *range = VEC_PUSH(p, locations);
	(void)id; /* they come in the order of their numbers */
	if (!range) {
		p->failed = true;
		return;
	}
	range->first = p->frames + 1;
	for (size_t i = 0; i < l->lines_cnt; i++)
		write_frame(p, l, &l->lines[i]);
	if (!l->lines_cnt)
		write_frame(p, l, NULL);
	range->cnt = p->frames + 1 - range->first;
}

/* From hexadecimal digits in place: readers want the bytes. */
static size_t build_id_bytes(const char *hex, uint8_t out[BUILD_ID_MAX])
{
	size_t n = 0;
	for (unsigned int byte; n < BUILD_ID_MAX && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		out[n] = (uint8_t)byte;
	return n;
}

static void intern_mapping(struct perfetto *p, uint64_t iid, const struct dictionary_mapping *from, const char *path,
			   const char *build_id)
{
	uint8_t bytes[BUILD_ID_MAX];
	interned_msg m = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Mapping map = PERFETTO__PROTOS__MAPPING__INIT, *maps = &map;
	Perfetto__Protos__InternedString name = string_of(iid, path, strlen(path)), *names = &name;
	Perfetto__Protos__InternedString id = string_of(iid, bytes, build_id_bytes(build_id, bytes)), *ids = &id;
	map.has_iid = map.has_build_id = map.has_start = map.has_end = map.has_exact_offset = true;
	map.iid = map.build_id = iid;
	map.start = from->start;
	map.end = from->limit;
	map.exact_offset = from->file_offset;
	map.n_path_string_ids = 1;
	map.path_string_ids = &iid;
	m.n_mappings = m.n_mapping_paths = m.n_build_ids = 1;
	m.mappings = &maps;
	m.mapping_paths = &names;
	m.build_ids = &ids;
	intern(p, &m);
}

static void write_mapping(void *writer, uint64_t id, const struct dictionary_mapping *from)
{
	struct perfetto *p = writer;
	intern_mapping(p, NO_FILE + id, from, text_at(p, from->filename), text_at(p, from->build_id));
}

static const struct dictionary_ops ops = { write_string, write_function, write_location, write_mapping };

static void add_packet(struct perfetto *p, const packet_msg *m)
{
	struct buf b = { 0 };
	pack_message(&b, &m->base);
	pack_nested(&p->data, TRACE_PACKET, &b);
	buf_free(&b);
}

static packet_msg packet_at(uint64_t ns)
{
	packet_msg m = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	m.has_timestamp = m.has_timestamp_clock_id = m.has_trusted_packet_sequence_id = true;
	m.timestamp = ns;
	m.timestamp_clock_id = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	m.trusted_packet_sequence_id = SEQUENCE;
	return m;
}

static Perfetto__Protos__ClockSnapshot__Clock clock_of(uint32_t id, uint64_t ns)
{
	Perfetto__Protos__ClockSnapshot__Clock c = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
	c.has_clock_id = c.has_timestamp = true;
	c.clock_id = id;
	c.timestamp = ns;
	return c;
}

static void add_clocks(struct perfetto *p)
{
	const uint64_t mono = p->header.mono_ns;
	Perfetto__Protos__ClockSnapshot__Clock clocks[] = {
		clock_of(PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME, p->header.time_ns),
		clock_of(PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC, mono),
		clock_of(PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_COARSE, mono),
	};
	Perfetto__Protos__ClockSnapshot__Clock *list[] = { &clocks[0], &clocks[1], &clocks[2] };
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	packet_msg m = packet_at(mono);
	snapshot.n_clocks = sizeof(list) / sizeof(*list);
	snapshot.clocks = list;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC;
	m.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	m.clock_snapshot = &snapshot;
	add_packet(p, &m);
}

static void add_note(struct perfetto *p, const char *line)
{
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	packet_msg m = packet_at(p->header.mono_ns);
	event.has_type = event.has_track_uuid = true;
	event.type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.track_uuid = NOTES_TRACK;
	event.name = (char *)line;
	m.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_TRACK_EVENT;
	m.track_event = &event;
	add_packet(p, &m);
}

static void add_notes(struct perfetto *p)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	packet_msg m = packet_at(p->header.mono_ns);
	size_t at = 0;
	track.has_uuid = true;
	track.uuid = NOTES_TRACK;
	track.name = (char *)"alys-bpf";
	m.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	m.track_descriptor = &track;
	add_packet(p, &m);
	for (const char *line; (line = profile_header_next(&p->header, &at));)
		add_note(p, line);
}

static void add_process_name(struct perfetto *p, const struct proc *proc)
{
	struct buf cleaned = { 0 };
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Perfetto__Protos__ProcessTree__Process one = PERFETTO__PROTOS__PROCESS_TREE__PROCESS__INIT, *list = &one;
	packet_msg m = packet_at(p->header.mono_ns);
	text_clean(&cleaned, proc->exe ? format_basename(proc->exe) : proc->comm, SIZE_MAX);
	char *name = (char *)buf_str(&cleaned);
	one.has_pid = true;
	one.pid = (int32_t)proc->tgid;
	one.n_cmdline = 1;
	one.cmdline = &name;
	tree.n_processes = 1;
	tree.processes = &list;
	m.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_PROCESS_TREE;
	m.process_tree = &tree;
	add_packet(p, &m);
	p->failed |= cleaned.failed;
	buf_free(&cleaned);
}

/* Of the stack in d.ids. Readers take a number that occurs again for a later state of the same stack, so none does. */
static uint64_t write_callstack(struct perfetto *p)
{
	interned_msg m = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Callstack one = PERFETTO__PROTOS__CALLSTACK__INIT, *list = &one;
	size_t n = 0, at = 0;
	for (size_t i = 0; i < p->d.ids_cnt; i++)
		n += p->locations[p->d.ids[i] - 1].cnt;
	uint64_t *frames = calloc(n + 1, sizeof(*frames));
	for (size_t i = p->d.ids_cnt; frames && i-- > 0;) {
		const struct frame_range *range = &p->locations[p->d.ids[i] - 1];
		for (size_t k = range->cnt; k-- > 0;)
			frames[at++] = range->first + k;
	}
	one.has_iid = true;
	one.iid = ++p->callstacks;
	one.n_frame_ids = at;
	one.frame_ids = frames;
	m.n_callstacks = 1;
	m.callstacks = &list;
	intern(p, &m);
	p->failed |= !frames;
	free(frames);
	return one.iid;
}

static uint64_t not_below_zero(int64_t n)
{
	return n > 0 ? (uint64_t)n : 0;
}

/* In use are what was allocated and not freed; both are estimates when sampled. */
static void add_sample(struct perfetto *p, struct proc_id proc, const int64_t values[VALUE_CNT])
{
	struct process_samples *process = processes_get(&p->processes, proc);
	Perfetto__Protos__ProfilePacket__ProcessHeapSamples dump = PERFETTO__PROTOS__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT;
	Perfetto__Protos__ProfilePacket__HeapSample one = PERFETTO__PROTOS__PROFILE_PACKET__HEAP_SAMPLE__INIT, *list = &one;
	p->failed |= !process;
	if (!process || p->failed || p->d.failed)
		return;
	one.has_callstack_id = one.has_self_allocated = one.has_self_freed = one.has_alloc_count = one.has_free_count = true;
	one.callstack_id = write_callstack(p);
	one.self_allocated = not_below_zero(values[VALUE_ALLOC_SPACE]);
	one.alloc_count = not_below_zero(values[VALUE_ALLOC_OBJECTS]);
	one.self_freed = not_below_zero(values[VALUE_ALLOC_SPACE] - values[VALUE_INUSE_SPACE]);
	one.free_count = not_below_zero(values[VALUE_ALLOC_OBJECTS] - values[VALUE_INUSE_OBJECTS]);
	dump.n_samples = 1;
	dump.samples = &list;
	pack_message(&process->samples[0], &dump.base);
	p->failed |= process->samples[0].failed;
}

static void add_rows(struct perfetto *p, const struct fold *order)
{
	struct sink_stack stack = { 0 };
	for (size_t i = 0; !p->failed && !p->d.failed && i < order->stacks_cnt; i++) {
		const struct snapshot_row *row = &p->in->snapshot->rows[order->stacks[i].row];
		int64_t values[VALUE_CNT];
		format_values(p->in->catalog, &row->t, values);
		p->failed |= sink_stack_of(p->in->catalog, p->in->options, row->stack, &stack) != 0;
		if (p->failed)
			break;
		dictionary_stack(&p->d, &stack);
		add_sample(p, row->proc, values);
	}
	sink_stack_free(&stack);
}

/*
 * Objects from before the recording count as allocated at its start. A dump is of a process: the first has those of an
 * unknown one.
 */
static void add_before(struct perfetto *p)
{
	size_t n = 0, first = 0;
	struct before_row *rows = dictionary_before_rows(&p->d, &n);
	const struct proc *proc = catalog_next_proc(p->in->catalog, &first);
	for (size_t i = 0; proc && i < n; i++) {
		int64_t values[VALUE_CNT];
		dictionary_before(&p->d, &rows[i], values);
		values[VALUE_ALLOC_OBJECTS] = values[VALUE_INUSE_OBJECTS];
		values[VALUE_ALLOC_SPACE] = values[VALUE_INUSE_SPACE];
		add_sample(p, rows[i].proc.n ? rows[i].proc : proc->id, values);
	}
	free(rows);
}

static void add_interned(struct perfetto *p)
{
	struct buf b = { 0 };
	packet_msg m = packet_at(p->header.mono_ns);
	dictionary_end(&p->d);
	intern_mapping(p, NO_FILE, &(struct dictionary_mapping){ 0 }, "[no file]", "");
	m.has_sequence_flags = true;
	m.sequence_flags = STATE_CLEARED;
	pack_message(&b, &m.base);
	pack_nested(&b, PACKET_INTERNED_DATA, &p->interned);
	pack_nested(&p->data, TRACE_PACKET, &b);
	buf_free(&b);
}

static void add_dump(struct perfetto *p, const struct process_samples *process, const struct proc *proc, struct buf *profile)
{
	Perfetto__Protos__ProfilePacket__ProcessHeapSamples dump = PERFETTO__PROTOS__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT;
	struct buf b = { 0 };
	dump.has_pid = dump.has_timestamp = dump.has_sampling_interval_bytes = true;
	dump.pid = proc->tgid;
	dump.timestamp = p->header.mono_ns + p->header.duration_ns;
	dump.heap_name = (char *)format_value_types(p->in->catalog)[VALUE_ALLOC_SPACE].name;
	dump.sampling_interval_bytes = (uint64_t)p->header.period;
	pack_message(&b, &dump.base);
	buf_add(&b, process->samples[0].data, process->samples[0].len);
	pack_nested(profile, PROFILE_DUMPS, &b);
	buf_free(&b);
}

static void add_profile(struct perfetto *p)
{
	Perfetto__Protos__ProfilePacket first = PERFETTO__PROTOS__PROFILE_PACKET__INIT;
	packet_msg m = packet_at(p->header.mono_ns + p->header.duration_ns);
	struct buf profile = { 0 }, b = { 0 };
	first.has_index = true;
	pack_message(&profile, &first.base);
	for (size_t i = 0; i < p->processes.list_cnt; i++) {
		const struct proc *proc = catalog_proc(p->in->catalog, p->processes.list[i].proc);
		if (!proc)
			continue;
		add_process_name(p, proc);
		add_dump(p, &p->processes.list[i], proc, &profile);
	}
	m.has_sequence_flags = true;
	m.sequence_flags = NEEDS_STATE;
	pack_message(&b, &m.base);
	pack_nested(&b, PACKET_PROFILE, &profile);
	pack_nested(&p->data, TRACE_PACKET, &b);
	buf_free(&profile);
	buf_free(&b);
}

static int write_trace(struct perfetto *p, struct sink_out *out, struct err *err)
{
	add_clocks(p);
	add_notes(p);
	add_interned(p);
	add_profile(p);
	if (p->failed || p->d.failed || p->data.failed)
		return err_set(err, ENOMEM, "out of memory while writing the profiles");
	return format_flush(out, &p->data, err);
}

static void release(struct perfetto *p)
{
	processes_free(&p->processes);
	free(p->locations);
	buf_free(&p->interned);
	buf_free(&p->data);
	profile_header_free(&p->header);
	dictionary_free(&p->d);
}

static int perfetto_render(const struct sink_input *in, struct sink_out *out, struct err *err)
{
	struct perfetto p = { .in = in };
	struct fold order = { 0 };
	enum value first; /* the others are in the dump, too */
	int rc = value_choose(in->options, value_standard(in), &first, err);
	if (rc)
		return rc;
	p.d = (struct dictionary){ .in = in, .ops = &ops, .writer = &p };
	if (fold_fill(&order, in, first) || profile_header_fill(in, &p.header)) {
		rc = err_set(err, ENOMEM, "out of memory for the stacks");
	} else {
		p.d.resolved = order.resolved;
		dictionary_begin(&p.d);
		add_rows(&p, &order);
		add_before(&p);
		rc = write_trace(&p, out, err);
	}
	fold_free(&order);
	release(&p);
	return rc;
}

const struct sink_ops sink_perfetto = {
	.name = "perfetto",
	.ext = ".perfetto-trace",
	.mime = "application/x-protobuf",
	.binary = true,
	.render = perfetto_render,
};
