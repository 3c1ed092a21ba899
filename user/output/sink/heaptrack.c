/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/heaptrack: all events in heaptrack's interpreted text format, version 3, compressed, for heaptrack_gui and
 * heaptrack_print. Numbers are hexadecimal; strings, addresses and stacks are numbered in order of appearance from 1,
 * (size, stack) pairs from 0.
 *
 *   s 4 main      i 401200 1 1 2 7     t 1 0      a 40 1     + 0     c 5     - 0
 *   string 1      address, module 1,   stack 1    pair 0     alloc   5 ms    free
 *                 main at string 2:7
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/text.h"
#include "base/vec.h"
#include "format/field_names.h"
#include "format/format.h"
#include "sink/registry.h"

#define FLUSH_SZ (256 * 1024)
/* Readers of version 3 compare it with their own version: 1.4. */
#define HEAPTRACK_VERSION "10400"

struct pair {
	uint64_t size, trace;
};

struct heaptrack {
	struct sink_input in;
	struct sink_out *out;
	struct buf buf, packed;
	ZSTD_CStream *zstd;
	struct names strings, places, pairs; /* value: id + 1, for pairs id; places are "i" lines */
	struct map traces;                   /* parent << 32 | place -> number */
	struct map trace_of;                 /* stack id -> number */
	struct sink_stack stack;
	struct buf text, line;
	uint32_t *places_of; /* places of the current stack's machine frames, innermost first */
	size_t places_of_cnt, places_of_cap;
	uint64_t first_ns, last_ms;
	bool failed;
};

static int compress(struct heaptrack *h, ZSTD_EndDirective end, struct err *err)
{
	if (h->buf.failed)
		return err_set(err, ENOMEM, "out of memory while writing the output");
	ZSTD_inBuffer from = { h->buf.data, h->buf.len, 0 };
	size_t left;
	do {
		uint8_t *room = buf_room(&h->packed, FLUSH_SZ);
		if (!room)
			return err_set(err, ENOMEM, "out of memory while compressing");
		ZSTD_outBuffer to = { room, FLUSH_SZ, 0 };
		left = ZSTD_compressStream2(h->zstd, &to, &from, end);
		if (ZSTD_isError(left))
			return err_set(err, ENOMEM, "compressing: %s", ZSTD_getErrorName(left));
		h->packed.len += to.pos;
		int rc = format_flush(h->out, &h->packed, err);
		if (rc)
			return rc;
	} while (end == ZSTD_e_end ? left : from.pos < from.size);
	buf_reset(&h->buf);
	return 0;
}

/* Number of a string, 0 if it is empty; writes the string if it is new. */
static uint32_t string_of(struct heaptrack *h, const char *text, size_t n)
{
	size_t before = h->strings.spans_cnt;
	if (!n)
		return 0;
	uint32_t id = names_put(&h->strings, text, n);
	if (id == NAMES_FAILED) {
		h->buf.failed = true;
		return 0;
	}
	if (h->strings.spans_cnt != before) {
		buf_addf(&h->buf, "s %zx ", n);
		buf_add(&h->buf, text, n);
		buf_u8(&h->buf, '\n');
	}
	return id + 1;
}

static uint32_t clean_string(struct heaptrack *h, const char *text)
{
	buf_reset(&h->text);
	text_clean(&h->text, text, SIZE_MAX);
	h->buf.failed |= h->text.failed;
	return string_of(h, buf_str(&h->text), h->text.len);
}

static void add_function(struct heaptrack *h, const struct sink_frame *f)
{
	buf_reset(&h->text);
	sink_frame_name(f, &h->text);
	uint32_t name = string_of(h, buf_str(&h->text), h->text.len);
	const char *file = f->symbol && f->symbol->file ? f->symbol->file : "";
	buf_addf(&h->line, " %x %x %x", name, clean_string(h, file), f->symbol ? f->symbol->line : 0);
}

/* Number of the machine frame beginning at frame i, including everything inlined into it; advances i. */
static uint32_t place_of(struct heaptrack *h, size_t *i)
{
	const struct sink_frame *f = &h->stack.frames[*i];
	bool named = format_is_named(f);
	uint32_t module = f->module && f->module->path ? clean_string(h, f->module->path) : 0;
	buf_reset(&h->line);
	buf_addf(&h->line, "i %" PRIx64 " %x", h->in.options->no_addresses ? 0 : f->pc, module);
	do
		if (named)
			add_function(h, &h->stack.frames[*i]);
	while (h->stack.frames[(*i)++].inlined && *i < h->stack.frames_cnt);
	size_t before = h->places.spans_cnt;
	uint32_t id = names_put(&h->places, h->line.data, h->line.len);
	h->buf.failed |= id == NAMES_FAILED || h->line.failed;
	if (h->places.spans_cnt != before)
		buf_addf(&h->buf, "%s\n", buf_str(&h->line));
	return id + 1;
}

/* Number of the current stack, 0: out of memory. Callers are written before callees. */
static uint32_t add_trace(struct heaptrack *h)
{
	uint32_t parent = 0;
	h->places_of_cnt = 0;
	for (size_t i = 0; i < h->stack.frames_cnt;) {
		uint32_t *place = VEC_PUSH(h, places_of);
		if (!place)
			return 0;
		*place = place_of(h, &i);
	}
	for (size_t i = h->places_of_cnt; i-- > 0;) {
		uint64_t key = (uint64_t)parent << 32 | h->places_of[i];
		uint64_t *number = map_put(&h->traces, key);
		if (!number)
			return 0;
		if (!*number) {
			*number = h->traces.count;
			buf_addf(&h->buf, "t %x %x\n", h->places_of[i], parent);
		}
		parent = (uint32_t)*number;
	}
	return parent;
}

static int trace_of(struct heaptrack *h, struct stack_id id, uint64_t *trace)
{
	uint64_t *known = map_get(&h->trace_of, id.n);
	if (!known) {
		if (sink_stack_of(h->in.catalog, h->in.options, id, &h->stack))
			return -ENOMEM;
		uint32_t made = add_trace(h);
		known = made ? map_put(&h->trace_of, id.n) : NULL;
		if (!known)
			return -ENOMEM;
		*known = made;
	}
	*trace = *known;
	return 0;
}

static int pair_of(struct heaptrack *h, const struct event *e, uint32_t *tag)
{
	struct pair p = { .size = e->size };
	size_t before = h->pairs.spans_cnt;
	if (trace_of(h, e->stack, &p.trace))
		return -ENOMEM;
	*tag = names_put(&h->pairs, &p, sizeof(p));
	if (h->pairs.spans_cnt != before)
		buf_addf(&h->buf, "a %" PRIx64 " %" PRIx64 "\n", p.size, p.trace);
	return *tag == NAMES_FAILED ? -ENOMEM : 0;
}

/* Whole milliseconds, never decreasing, as the charts of heaptrack_gui require. */
static void put_time(struct heaptrack *h, uint64_t ns)
{
	if (!h->first_ns)
		h->first_ns = ns;
	uint64_t ms = ns > h->first_ns ? (ns - h->first_ns) / 1000000 : 0;
	if (ms <= h->last_ms)
		return;
	h->last_ms = ms;
	buf_addf(&h->buf, "c %" PRIx64 "\n", ms);
}

static uint32_t on_begin(void *ctx, const struct life *life, const struct event *e)
{
	struct heaptrack *h = ctx;
	uint32_t tag = 0;
	(void)life;
	put_time(h, e->time_ns);
	if (pair_of(h, e, &tag))
		h->buf.failed = true;
	buf_addf(&h->buf, "+ %x\n", tag);
	return tag;
}

static void on_end(void *ctx, const struct life *life, enum life_end how, const struct event *e)
{
	struct heaptrack *h = ctx;
	if (how >= LIFE_EXIT)
		return;
	put_time(h, e->time_ns);
	buf_addf(&h->buf, "- %x\n", life->tag);
}

static int heaptrack_begin(const struct sink_input *in, struct sink_out *out, void **state, struct err *err)
{
	int rc = format_refuse_samples(in->catalog, "heaptrack", err);
	struct heaptrack *h = rc ? NULL : calloc(1, sizeof(*h));
	if (!h)
		return rc ? rc : err_set(err, ENOMEM, "out of memory");
	h->zstd = ZSTD_createCStream();
	if (!h->zstd) {
		free(h);
		return err_set(err, ENOMEM, "out of memory for compressing");
	}
	const struct heap_listener listener = { on_begin, on_end, h };
	heap_listen(in->heap, &listener);
	h->in = *in;
	h->out = out;
	h->first_ns = format_start_ns(in);
	buf_adds(&h->buf, "v " HEAPTRACK_VERSION " 3\nX ");
	format_command(in->catalog, &h->buf);
	buf_adds(&h->buf, "\n");
	*state = h;
	return 0;
}

static int heaptrack_event(void *state, const struct event *e, const struct applied *a, struct err *err)
{
	struct heaptrack *h = state;
	int rc = e->interval ? format_refuse_samples(NULL, "heaptrack", err) : 0;
	(void)a;
	if (!rc && h->buf.len >= FLUSH_SZ)
		rc = compress(h, ZSTD_e_continue, err);
	h->failed |= rc != 0;
	return rc;
}

static int heaptrack_end(void *state, struct err *err)
{
	struct heaptrack *h = state;
	put_time(h, format_end_ns(&h->in));
	int rc = h->failed ? 0 : compress(h, ZSTD_e_end, err);
	ZSTD_freeCStream(h->zstd);
	names_free(&h->strings);
	names_free(&h->places);
	names_free(&h->pairs);
	map_free(&h->traces);
	map_free(&h->trace_of);
	sink_stack_free(&h->stack);
	buf_free(&h->buf);
	buf_free(&h->packed);
	buf_free(&h->text);
	buf_free(&h->line);
	free(h->places_of);
	free(h);
	return rc;
}

const struct sink_ops sink_heaptrack = {
	.name = "heaptrack",
	.ext = ".heaptrack.zst",
	.mime = "application/zstd",
	.binary = true,
	.begin = heaptrack_begin,
	.event = heaptrack_event,
	.end = heaptrack_end,
};
