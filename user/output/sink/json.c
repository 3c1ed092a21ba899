/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/json: events as objects in recorded order, as one JSON array or as JSON lines. Frames are written with each
 * event, or once per stack, in which case events refer to its number: arrays have a table of stacks in front, lines
 * have a stack just before its first event. The format is specified in json.schema.json. Written as a stream: only
 * texts of stacks are kept, up to a limit, because a few stacks make most events. Calls of functions (--calls) come last:
 * as lines or elements of kind "calls", or beside the events.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/call_counts.h"
#include "format/format.h"
#include "sink/registry.h"

#define FLUSH_SZ (256 * 1024)
#define TEXTS_MAX (32 << 20)

struct stack_text {
	size_t at, len;
};

struct json {
	struct sink_input in;
	struct sink_out *out;
	bool lines, indent;
	struct buf buf;
	uint64_t events;
	uint32_t lost;       /* number of the table row for missing stacks */
	bool failed;         /* writing failed: end() must not continue */
	struct proc_id proc; /* process of the cached values below */
	uint64_t start_ns;
	uint32_t tgid;
	struct sink_stack stack;
	struct buf texts;
	struct map text_of; /* stack id -> index into spans; with frames once, in lines: stacks already written */
	struct stack_text *spans;
	size_t spans_cnt, spans_cap;
};

static void put_number(struct buf *b, uint64_t v)
{
	uint8_t digits[20];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (uint8_t)('0' + v % 10);
		v /= 10;
	} while (v);
	buf_add(b, digits + at, sizeof(digits) - at);
}

/* If indenting, a new line at this depth. */
static void put_break(const struct json *j, struct buf *b, unsigned int depth)
{
	static const char spaces[] = "\n          ";
	if (j->indent)
		buf_add(b, spaces, 1 + 2 * (size_t)depth);
}

/* `mark`: written before the key: { for the first one of an object, else a comma. */
static void put_key(const struct json *j, struct buf *b, unsigned int depth, char mark, const char *key)
{
	buf_u8(b, (uint8_t)mark);
	put_break(j, b, depth);
	buf_u8(b, '"');
	buf_adds(b, key);
	buf_adds(b, j->indent ? "\": " : "\":");
}

static void put_field(struct json *j, const char *key, uint64_t v)
{
	put_key(j, &j->buf, 2, ',', key);
	put_number(&j->buf, v);
}

static void put_frame(struct json *j, const struct sink_frame *f)
{
	struct buf *b = &j->texts;
	const struct symbol *s = f->symbol;
	put_key(j, b, 4, '{', "ip");
	put_number(b, j->in.options->no_addresses ? 0 : f->ip);
	if (s && s->file) {
		put_key(j, b, 4, ',', "file");
		text_json(b, s->file);
	}
	if (s && s->line) {
		put_key(j, b, 4, ',', "line");
		put_number(b, s->line);
	}
	if (f->module || format_is_named(f)) {
		struct buf name = { 0 };
		sink_frame_name(f, &name);
		put_key(j, b, 4, ',', "name");
		text_json(b, buf_str(&name));
		b->failed |= name.failed;
		buf_free(&name);
	}
	if (s && s->column) {
		put_key(j, b, 4, ',', "column");
		put_number(b, s->column);
	}
	if (f->inlined) {
		put_key(j, b, 4, ',', "inlined");
		buf_adds(b, "true");
	}
	put_break(j, b, 3);
	buf_u8(b, '}');
}

/* The array of frames: empty for events without a stack id; a lost stack has one frame that says so. */
static int make_text(struct json *j, struct stack_id id, struct stack_text *span)
{
	span->at = j->texts.len;
	buf_u8(&j->texts, '[');
	if (id.n) {
		if (sink_stack_of(j->in.catalog, j->in.options, id, &j->stack))
			return -ENOMEM;
		for (size_t i = 0; i < j->stack.frames_cnt; i++) {
			if (i)
				buf_u8(&j->texts, ',');
			put_break(j, &j->texts, 3);
			put_frame(j, &j->stack.frames[i]);
		}
		put_break(j, &j->texts, 2);
	}
	buf_u8(&j->texts, ']');
	span->len = j->texts.len - span->at;
	return j->texts.failed ? -ENOMEM : 0;
}

/* "id":1,"frames":[...]} */
static int put_row(struct json *j, struct stack_id id, uint32_t number)
{
	struct stack_text span;
	put_number(&j->buf, number);
	put_key(j, &j->buf, 2, ',', "frames");
	int rc = make_text(j, id, &span);
	buf_add(&j->buf, j->texts.data + span.at, span.len);
	buf_reset(&j->texts);
	put_break(j, &j->buf, 1);
	buf_u8(&j->buf, '}');
	return rc;
}

static int put_table_row(struct json *j, struct stack_id id, uint32_t number, struct err *err)
{
	if (number)
		buf_u8(&j->buf, ',');
	buf_adds(&j->buf, j->indent ? "\n  " : "\n");
	put_key(j, &j->buf, 2, '{', "id");
	if (put_row(j, id, number))
		return err_set(err, ENOMEM, "out of memory for the texts of the stacks");
	return j->buf.len >= FLUSH_SZ ? format_flush(j->out, &j->buf, err) : 0;
}

/* All stacks of the recording: which of them events will use is not known yet. */
static int put_table(struct json *j, struct err *err)
{
	const struct stack *s;
	buf_adds(&j->buf, "{\"stacks\":[");
	int rc = put_table_row(j, (struct stack_id){ 0 }, 0, err);
	for (size_t i = 0; !rc && (s = catalog_next_stack(j->in.catalog, &i));) {
		rc = put_table_row(j, s->id, s->id.n, err);
		j->lost = s->id.n > j->lost ? s->id.n : j->lost;
	}
	j->lost++;
	/* No stack has this number, so its row shows a lost stack. */
	rc = rc ? rc : put_table_row(j, (struct stack_id){ j->lost }, j->lost, err);
	buf_adds(&j->buf, "\n],\n\"events\":[");
	return rc;
}

/* Writes a stack's line before its first event. */
static int put_stack_line(struct json *j, struct stack_id id)
{
	uint64_t *written = map_put(&j->text_of, id.n);
	if (!written || *written)
		return written ? 0 : -ENOMEM;
	*written = 1;
	buf_adds(&j->buf, "{\"kind\":\"stack\",\"id\":");
	int rc = put_row(j, id, id.n);
	buf_u8(&j->buf, '\n');
	return rc;
}

static void forget_texts(struct json *j)
{
	buf_reset(&j->texts);
	map_free(&j->text_of);
	j->spans_cnt = 0;
}

static int put_stack_number(struct json *j, struct stack_id id)
{
	bool known = j->lines || !id.n || catalog_stack(j->in.catalog, id);
	put_field(j, "stack", known ? id.n : j->lost);
	return 0;
}

static int put_stack(struct json *j, struct stack_id id)
{
	if (j->in.options->stacks_once)
		return put_stack_number(j, id);
	if (j->texts.len > TEXTS_MAX)
		forget_texts(j);
	uint64_t *index = map_get(&j->text_of, id.n);
	if (!index) {
		struct stack_text *span = VEC_PUSH(j, spans);
		if (!span || make_text(j, id, span))
			return -ENOMEM;
		index = map_put(&j->text_of, id.n);
		if (!index)
			return -ENOMEM;
		*index = j->spans_cnt - 1;
	}
	put_key(j, &j->buf, 2, ',', "stack");
	buf_add(&j->buf, j->texts.data + j->spans[*index].at, j->spans[*index].len);
	return 0;
}

/* Cached, because consecutive events mostly come from the same process. */
static void find_proc(struct json *j, struct proc_id id, uint64_t first_ns)
{
	if (j->proc.n == id.n && j->events)
		return;
	const struct proc *p = catalog_proc(j->in.catalog, id);
	const char *start = catalog_meta(j->in.catalog, "start_mono_ns");
	j->proc = id;
	j->tgid = p ? p->tgid : 0;
	j->start_ns = p ? p->start_ns : start ? strtoull(start, NULL, 10) : first_ns;
}

/* Seconds since the program's start, which is known only to a clock tick: may be negative. */
static void put_time(struct json *j, uint64_t time_ns)
{
	bool before = time_ns < j->start_ns;
	uint64_t ns = before ? j->start_ns - time_ns : time_ns - j->start_ns;
	char fraction[10] = ".000000000";
	uint64_t rest = ns % 1000000000;
	for (int i = 9; i > 0; i--, rest /= 10)
		fraction[i] = (char)('0' + rest % 10);
	put_key(j, &j->buf, 2, ',', "time");
	if (before)
		buf_u8(&j->buf, '-');
	put_number(&j->buf, ns / 1000000000);
	buf_add(&j->buf, fraction, sizeof(fraction));
}

static void put_block(struct json *j, const struct event *e, const struct applied *a)
{
	bool hide = j->in.options->no_addresses;
	put_field(j, "addr", hide ? 0 : e->addr);
	put_field(j, "size", e->kind == EVENT_FREE ? a->prev_size : e->size);
	if (e->kind == EVENT_REALLOC) {
		put_field(j, "prev_addr", hide ? 0 : e->old_addr);
		put_field(j, "prev_size", a->prev_size);
	}
}

static void put_extras(struct json *j, const struct event *e, const struct applied *a)
{
	struct buf *b = &j->buf;
	put_field(j, "tgid", j->tgid);
	put_field(j, "tid", e->tid);
	if (e->interval || a->weight > 1) {
		put_key(j, b, 2, ',', "weight");
		buf_addf(b, "%.9g", a->weight);
	}
	if (e->flags & EVENT_F_ATOMIC) {
		put_key(j, b, 2, ',', "atomic");
		buf_adds(b, "true");
	}
	if (e->flags & EVENT_F_CARRIED) {
		put_key(j, b, 2, ',', "carried");
		buf_adds(b, "true");
	}
	if (e->flags & EVENT_F_GC)
		put_field(j, "gc_no", e->gc_no);
	if (e->flags & EVENT_F_BY_GC) {
		put_key(j, b, 2, ',', "cause");
		buf_adds(b, "\"gc\"");
	}
}

static void json_free(struct json *j)
{
	sink_stack_free(&j->stack);
	buf_free(&j->buf);
	buf_free(&j->texts);
	map_free(&j->text_of);
	free(j->spans);
	free(j);
}

static int begin(const struct sink_input *in, struct sink_out *out, bool lines, void **state, struct err *err)
{
	struct json *j = calloc(1, sizeof(*j));
	int rc = j ? 0 : err_set(err, ENOMEM, "out of memory");
	if (rc)
		return rc;
	*j = (struct json){ .in = *in, .out = out, .lines = lines, .indent = in->options->indent && !lines };
	if (!lines && in->options->stacks_once)
		rc = put_table(j, err);
	else if (!lines)
		buf_u8(&j->buf, '[');
	*state = rc ? NULL : j;
	if (rc)
		json_free(j);
	return rc;
}

static int json_begin(const struct sink_input *in, struct sink_out *out, void **state, struct err *err)
{
	return begin(in, out, false, state, err);
}

static int jsonl_begin(const struct sink_input *in, struct sink_out *out, void **state, struct err *err)
{
	return begin(in, out, true, state, err);
}

/* Separates events in the array. */
static void put_separator(struct json *j)
{
	if (j->events++)
		buf_u8(&j->buf, ',');
	buf_adds(&j->buf, j->indent ? "\n  " : "\n");
}

static int json_event(void *state, const struct event *e, const struct applied *a, struct err *err)
{
	static const char *const kinds[] = {
		[EVENT_ALLOC] = "\"alloc\"",
		[EVENT_REALLOC] = "\"realloc\"",
		[EVENT_FREE] = "\"free\"",
	};
	struct json *j = state;
	struct buf *b = &j->buf;
	if (e->kind < EVENT_ALLOC || e->kind > EVENT_FREE)
		return 0;
	find_proc(j, e->proc, e->time_ns);
	int rc = j->lines && j->in.options->stacks_once ? put_stack_line(j, e->stack) : 0;
	if (j->lines)
		j->events++;
	else
		put_separator(j);
	put_key(j, b, 2, '{', "id");
	put_number(b, a->id);
	put_time(j, e->time_ns);
	put_key(j, b, 2, ',', "kind");
	buf_adds(b, kinds[e->kind]);
	put_block(j, e, a);
	put_extras(j, e, a);
	if (rc || put_stack(j, e->stack))
		rc = err_set(err, ENOMEM, "out of memory for the texts of the stacks");
	put_break(j, b, 1);
	buf_adds(b, j->lines ? "}\n" : "}");
	if (!rc && b->len >= FLUSH_SZ)
		rc = format_flush(j->out, b, err);
	j->failed |= rc != 0;
	return rc;
}

static int put_called(struct json *j, const struct called *row)
{
	const struct proc *p = catalog_proc(j->in.catalog, row->proc);
	struct buf name = { 0 };
	int rc = calls_name(j->in.catalog, row, &j->stack, &name);
	put_key(j, &j->buf, 2, '{', "kind");
	buf_adds(&j->buf, "\"calls\"");
	put_key(j, &j->buf, 2, ',', "function");
	text_json(&j->buf, buf_str(&name));
	put_field(j, "calls", row->calls);
	put_field(j, "tgid", p ? p->tgid : 0);
	put_break(j, &j->buf, 1);
	buf_adds(&j->buf, j->lines ? "}\n" : "}");
	buf_free(&name);
	return rc;
}

static int put_calls(struct json *j, struct err *err)
{
	const struct called *row;
	bool beside = !j->lines && j->in.options->stacks_once;
	int rc = 0;
	if (beside)
		buf_adds(&j->buf, "\n],\n\"calls\":[");
	j->events = beside ? 0 : j->events;
	for (size_t i = 0; !rc && (row = catalog_next_called(j->in.catalog, &i));) {
		if (!j->lines)
			put_separator(j);
		rc = put_called(j, row);
	}
	return rc ? err_set(err, ENOMEM, "out of memory for the calls of functions") : 0;
}

static int json_end(void *state, struct err *err)
{
	struct json *j = state;
	int rc = 0;
	if (!j->failed) {
		rc = calls_were_counted(j->in.catalog) ? put_calls(j, err) : 0;
		if (!j->lines)
			buf_adds(&j->buf, j->in.options->stacks_once ? "\n]}\n" : "\n]\n");
		rc = rc ?: format_flush(j->out, &j->buf, err);
	}
	json_free(j);
	return rc;
}

const struct sink_ops sink_json = {
	.name = "json",
	.ext = ".json",
	.mime = "application/json",
	.begin = json_begin,
	.event = json_event,
	.end = json_end,
};

const struct sink_ops sink_jsonl = {
	.name = "jsonl",
	.ext = ".jsonl",
	.mime = "application/x-ndjson",
	.begin = jsonl_begin,
	.event = json_event,
	.end = json_end,
};
