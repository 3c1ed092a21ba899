/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/writer: packs definitions and events into frames, and appends frames to the file. Definitions are repeated in each
 * segment that uses them, so that damage stays within one segment. They come from the recording's catalog, or a private one.
 *
 *   write_stack --> defs ----+
 *                            +--> frame: head, zstd payload, pad --> tape (completely or not at all)
 *   write_event --> columns -+
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/map.h"
#include "trace/columns.h"
#include "trace/defs.h"
#include "trace/framing.h"
#include "trace/tape.h"

#define SEGMENT_SZ (64ull << 20)
#define SECOND_NS 1000000000ull
#define END_RESERVE 4096 /* part of the tape's reserve, kept for the final END frame */

struct trace_writer {
	struct tape tape;
	ZSTD_CCtx *zstd;
	const struct catalog *known; /* definitions that events refer to */
	struct catalog *own;         /* the same catalog if it is private, else NULL */
	struct catalog *account;     /* the file's own metadata and counts */
	struct map stamps;           /* (definition kind, id) -> segment in which it was last written */
	uint64_t segment, segment_at, segment_sz;
	struct buf defs, body, raw, out;
	uint32_t defs_cnt;
	struct column_writer events;
	struct event last; /* its proc and stack are known to be written */
	uint64_t seq, event_cnt;
	uint64_t now_ns, flushed_ns;
	bool full; /* the last frame could not be written */
	bool defs_lost;
	uint64_t retry_ns;
	uint64_t dropped;
	uint64_t lost[COLUMNS_KINDS]; /* dropped events not yet reported in the trace, by kind */
	size_t keep;
	struct err first;
};

static int remember(struct trace_writer *w, int rc, const char *what)
{
	if (rc && !w->first.code)
		err_set(&w->first, -rc, "%s: %s", what, strerror(-rc));
	return rc;
}

static void writer_free(struct trace_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	catalog_free(w->own);
	catalog_free(w->account);
	map_free(&w->stamps);
	buf_free(&w->defs);
	buf_free(&w->body);
	buf_free(&w->raw);
	buf_free(&w->out);
	columns_free(&w->events);
	free(w);
}

static int write_header(struct trace_writer *w, const struct trace_clock *clock)
{
	header_encode(&w->out, clock);
	if (w->out.failed)
		return -ENOMEM;
	return tape_write(&w->tape, w->out.data, w->out.len, TAPE_RESERVE);
}

struct trace_writer *trace_writer_over(int fd, const struct trace_clock *clock, const struct catalog *known, struct err *err)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	int rc = -ENOMEM;
	if (w) {
		tape_begin(&w->tape, fd);
		w->segment_sz = SEGMENT_SZ;
		w->segment = 1;
		w->keep = TAPE_RESERVE;
		w->now_ns = clock->mono_ns;
		w->zstd = ZSTD_createCCtx();
		w->account = catalog_new();
		w->own = known ? NULL : catalog_new();
		w->known = known ?: w->own;
		if (w->zstd && w->known && w->account)
			rc = write_header(w, clock);
	}
	if (!rc)
		return w;
	err_set(err, -rc, "cannot begin the trace: %s", strerror(-rc));
	if (w)
		writer_free(w);
	close(fd);
	return NULL;
}

struct trace_writer *trace_writer_new(int fd, const struct trace_clock *clock, struct err *err)
{
	return trace_writer_over(fd, clock, NULL, err);
}

void trace_writer_follow(struct trace_writer *w, const struct catalog *known)
{
	w->known = known;
}

void trace_writer_set_segment(struct trace_writer *w, uint64_t bytes)
{
	w->segment_sz = bytes;
}

/* Builds the frame in out: head, payload (compressed if that makes it smaller), padding. */
static int build_frame(struct trace_writer *w, const struct buf *raw, struct frame_head *h)
{
	size_t bound = ZSTD_compressBound(raw->len);
	buf_reset(&w->out);
	uint8_t *at = buf_room(&w->out, FRAME_HEAD_SZ + bound + FRAME_ALIGN);
	if (!at || raw->failed)
		return -ENOMEM;
	size_t n = ZSTD_compressCCtx(w->zstd, at + FRAME_HEAD_SZ, bound, raw->data, raw->len, 1);
	if (ZSTD_isError(n) || n >= raw->len) {
		n = raw->len;
		memcpy(at + FRAME_HEAD_SZ, raw->data, n);
	} else {
		h->flags |= FRAME_F_ZSTD;
	}
	h->raw_len = (uint32_t)raw->len;
	h->stored_len = (uint32_t)n;
	h->seq = w->seq;
	h->payload_crc = frame_crc(at + FRAME_HEAD_SZ, n);
	frame_head_encode(&w->out, h);
	memset(at + FRAME_HEAD_SZ + n, 0, FRAME_ALIGN);
	w->out.len = FRAME_HEAD_SZ + frame_padded(n);
	return 0;
}

/* While the disk is full, writing is retried once a second. */
static int put_frame(struct trace_writer *w, enum frame_type type, const struct buf *raw, uint32_t count, uint64_t t_ns)
{
	if (w->full && w->now_ns < w->retry_ns)
		return -ENOSPC;
	struct frame_head h = { .type = (uint16_t)type, .count = count, .t_ns = t_ns };
	if (type == FRAME_HEAP)
		h.flags = FRAME_F_OPTIONAL;
	int rc = build_frame(w, raw, &h);
	if (!rc)
		rc = tape_write(&w->tape, w->out.data, w->out.len, w->keep);
	w->full = rc != 0;
	if (rc) {
		w->retry_ns = w->now_ns + SECOND_NS;
		return remember(w, rc, "cannot write the trace");
	}
	w->seq++;
	return 0;
}

/* From here on no definition counts as written. */
static void next_segment(struct trace_writer *w)
{
	w->segment++;
	w->segment_at = w->tape.pos;
	w->last = (struct event){ 0 };
}

static int flush_defs(struct trace_writer *w)
{
	if (!w->defs_cnt && !w->defs.failed)
		return 0;
	int rc = put_frame(w, FRAME_DEFS, &w->defs, w->defs_cnt, w->now_ns);
	w->defs.failed = false;
	buf_reset(&w->defs);
	w->defs_cnt = 0;
	if (rc) {
		w->defs_lost = true;
		next_segment(w);
	}
	return rc;
}

static int flush_columns(struct trace_writer *w)
{
	if (!w->events.cnt)
		return 0;
	uint32_t cnt = w->events.cnt;
	struct column_tally tally = w->events.tally;
	buf_reset(&w->raw);
	w->raw.failed = false;
	columns_finish(&w->events, &w->raw);
	int rc = put_frame(w, FRAME_EVENTS, &w->raw, cnt, w->events.last_ns);
	if (rc) {
		w->dropped += cnt - tally.silent;
		for (int k = 0; k < COLUMNS_KINDS; k++)
			w->lost[k] += tally.of[k];
	} else {
		w->event_cnt += cnt;
	}
	return rc;
}

/* Dropped events are recorded as loss events, so that readers know that frees are missing. */
static void write_lost(struct trace_writer *w)
{
	for (uint8_t k = 0; k < COLUMNS_KINDS; k++) {
		if (!w->lost[k])
			continue;
		struct event e = { .kind = EVENT_LOSS, .lost_kind = k, .size = w->lost[k], .time_ns = w->now_ns };
		columns_put(&w->events, &e);
		w->lost[k] = 0;
	}
}

static int repeat_meta(struct trace_writer *w);

/* Definitions are written first, so that a file cut by a crash is still readable. */
static int flush(struct trace_writer *w)
{
	int defs = flush_defs(w);
	int rc = flush_columns(w);
	w->flushed_ns = w->now_ns;
	if (rc || defs)
		return rc ? rc : defs;
	write_lost(w);
	if (w->tape.pos - w->segment_at < w->segment_sz)
		return 0;
	next_segment(w);
	return repeat_meta(w);
}

/* Appends w->body as one record. */
static int put_record(struct trace_writer *w, enum def_kind kind)
{
	int rc = 0;
	if (w->body.failed || w->body.len > FRAME_RAW_MAX - FRAME_RAW_AIM) {
		rc = w->body.failed ? -ENOMEM : -E2BIG;
		buf_free(&w->body);
		return remember(w, rc, "cannot write a definition");
	}
	if (w->defs.len + w->body.len > FRAME_RAW_AIM)
		rc = flush_defs(w);
	buf_varint(&w->defs, kind);
	buf_varint(&w->defs, w->body.len);
	buf_add(&w->defs, w->body.data, w->body.len);
	buf_reset(&w->body);
	w->defs_cnt++;
	return rc;
}

/* Whether the definition is in this segment already; it counts as written afterwards. */
static bool stamped(struct trace_writer *w, enum def_kind kind, uint32_t id)
{
	uint64_t *at = map_put(&w->stamps, (uint64_t)kind << 32 | id);
	if (!at)
		return false;
	bool is = *at == w->segment;
	*at = w->segment;
	return is;
}

static void unstamp(struct trace_writer *w, enum def_kind kind, uint32_t id)
{
	map_del(&w->stamps, (uint64_t)kind << 32 | id);
}

static int use_proc(struct trace_writer *w, struct proc_id id)
{
	const struct proc *p = catalog_proc(w->known, id);
	if (!p || stamped(w, DEF_PROC, id.n))
		return 0;
	def_proc(&w->body, p);
	return put_record(w, DEF_PROC);
}

static int use_module(struct trace_writer *w, struct module_id id)
{
	const struct module *m = catalog_module(w->known, id);
	if (!m || stamped(w, DEF_MODULE, id.n))
		return 0;
	def_module(&w->body, m);
	return put_record(w, DEF_MODULE);
}

static int use_mapping(struct trace_writer *w, struct map_id id)
{
	const struct mapping *m = catalog_mapping(w->known, id);
	if (!m || stamped(w, DEF_MAPPING, id.n))
		return 0;
	int a = use_proc(w, m->proc), b = use_module(w, m->module);
	def_mapping(&w->body, m);
	int rc = put_record(w, DEF_MAPPING);
	return a ? a : b ? b : rc;
}

static int use_stack(struct trace_writer *w, struct stack_id id)
{
	const struct stack *s = catalog_stack(w->known, id);
	if (!s || stamped(w, DEF_STACK, id.n))
		return 0;
	int rc = use_proc(w, s->proc);
	for (uint32_t i = 0; i < s->n; i++) {
		if (i && s->frames[i].map.n == s->frames[i - 1].map.n)
			continue;
		int used = use_mapping(w, s->frames[i].map);
		rc = rc ? rc : used;
	}
	def_stack(&w->body, s);
	int put = put_record(w, DEF_STACK);
	return rc ? rc : put;
}

static int put_erlang_process(struct trace_writer *w, const struct erlang_process *erlang)
{
	int rc = use_proc(w, erlang->proc);
	if (rc)
		return rc;
	def_erlang_process(&w->body, erlang);
	return put_record(w, DEF_ERLANG_PROCESS);
}

static int repeat_erlang_processes(struct trace_writer *w)
{
	const struct erlang_process *erlang;
	int rc = 0;
	for (size_t i = 0; !rc && (erlang = catalog_next_erlang_process(w->known, &i));)
		rc = put_erlang_process(w, erlang);
	return rc;
}

static int repeat_meta(struct trace_writer *w)
{
	const char *key, *value;
	const struct count *n;
	const struct older *o;
	const struct called *called;
	int rc = 0;
	for (size_t i = 0; !rc && catalog_next_meta(w->account, &i, &key, &value);) {
		def_meta(&w->body, key, value);
		rc = put_record(w, DEF_META);
	}
	for (size_t i = 0; !rc && (n = catalog_next_count(w->account, &i));) {
		def_count(&w->body, n);
		rc = put_record(w, DEF_COUNT);
	}
	for (size_t i = 0; !rc && (o = catalog_next_older(w->account, &i));) {
		def_older(&w->body, o);
		rc = put_record(w, DEF_OLDER);
	}
	for (size_t i = 0; !rc && (called = catalog_next_called(w->account, &i));) {
		rc = use_stack(w, called->stack);
		def_called(&w->body, called);
		rc = rc ?: put_record(w, DEF_CALLED);
	}
	return rc ?: repeat_erlang_processes(w);
}

static int repeat_all(struct trace_writer *w)
{
	const struct proc *p;
	const struct module *m;
	const struct mapping *g;
	const struct stack *s;
	int rc = repeat_meta(w);
	for (size_t i = 0; !rc && (p = catalog_next_proc(w->known, &i));)
		rc = use_proc(w, p->id);
	for (size_t i = 0; !rc && (m = catalog_next_module(w->known, &i));)
		rc = use_module(w, m->id);
	for (size_t i = 0; !rc && (g = catalog_next_mapping(w->known, &i));)
		rc = use_mapping(w, g->id);
	for (size_t i = 0; !rc && (s = catalog_next_stack(w->known, &i));)
		rc = use_stack(w, s->id);
	return rc;
}

bool trace_has_stack(const struct trace_writer *w, struct stack_id id)
{
	return map_get(&w->stamps, (uint64_t)DEF_STACK << 32 | id.n) != NULL;
}

int trace_write_meta(struct trace_writer *w, const char *key, const char *value)
{
	int rc = catalog_put_meta(w->account, key, value);
	if (rc)
		return rc;
	def_meta(&w->body, key, value);
	return put_record(w, DEF_META);
}

int trace_write_proc(struct trace_writer *w, const struct proc *p)
{
	int rc = !w->own ? 0 : catalog_put_proc(w->own, p);
	unstamp(w, DEF_PROC, p->id.n);
	return rc ? rc : use_proc(w, p->id);
}

int trace_write_module(struct trace_writer *w, const struct module *m)
{
	int rc = !w->own ? 0 : catalog_put_module(w->own, m);
	unstamp(w, DEF_MODULE, m->id.n);
	return rc ? rc : use_module(w, m->id);
}

int trace_write_mapping(struct trace_writer *w, const struct mapping *m)
{
	int rc = !w->own ? 0 : catalog_put_mapping(w->own, m);
	unstamp(w, DEF_MAPPING, m->id.n);
	return rc ? rc : use_mapping(w, m->id);
}

int trace_write_stack(struct trace_writer *w, const struct stack *s)
{
	int rc = !w->own ? 0 : catalog_put_stack(w->own, s);
	unstamp(w, DEF_STACK, s->id.n);
	return rc ? rc : use_stack(w, s->id);
}

int trace_write_symbols(struct trace_writer *w, struct module_id m, uint64_t pc, const struct symbols *s)
{
	def_symbols(&w->body, m, pc, s);
	return put_record(w, DEF_SYMBOLS);
}

int trace_write_count(struct trace_writer *w, const struct count *c)
{
	int rc = catalog_put_count(w->account, c);
	if (rc)
		return rc;
	def_count(&w->body, c);
	return put_record(w, DEF_COUNT);
}

int trace_write_older(struct trace_writer *w, const struct older *o)
{
	const struct older *told = catalog_older(w->account, o->proc, o->type);
	if (told ? told->cnt == o->cnt && told->bytes == o->bytes : !o->cnt)
		return 0;
	int rc = catalog_put_older(w->account, o);
	rc = rc ?: use_proc(w, o->proc);
	if (rc)
		return rc;
	def_older(&w->body, o);
	return put_record(w, DEF_OLDER);
}

int trace_write_erlang_process(struct trace_writer *w, const struct erlang_process *erlang)
{
	int rc = !w->own ? 0 : catalog_put_erlang_process(w->own, erlang);
	return rc ?: put_erlang_process(w, erlang);
}

int trace_write_called(struct trace_writer *w, const struct called *n)
{
	const struct called *told = catalog_called(w->account, n->stack);
	if (told && told->calls == n->calls)
		return 0;
	int rc = catalog_put_called(w->account, n);
	rc = rc ?: use_stack(w, n->stack);
	if (rc)
		return rc;
	def_called(&w->body, n);
	return put_record(w, DEF_CALLED);
}

int trace_write_event(struct trace_writer *w, const struct event *e)
{
	int rc = 0;
	if (e->time_ns > w->now_ns)
		w->now_ns = e->time_ns;
	if (e->proc.n != w->last.proc.n)
		rc = use_proc(w, e->proc);
	if (e->stack.n != w->last.stack.n)
		rc = use_stack(w, e->stack);
	w->last = *e;
	columns_put(&w->events, e);
	if (w->events.cnt >= FRAME_EVENTS_MAX || columns_size(&w->events) >= FRAME_RAW_AIM)
		return flush(w);
	return rc;
}

int trace_write_part(struct trace_writer *w, const struct buf *part)
{
	if (part->len > FRAME_RAW_MAX / 2)
		return remember(w, -E2BIG, "cannot write a part of a heap");
	return put_frame(w, FRAME_HEAP, part, 1, w->now_ns);
}

int trace_tick(struct trace_writer *w, uint64_t now_ns)
{
	if (now_ns > w->now_ns)
		w->now_ns = now_ns;
	if (w->now_ns - w->flushed_ns < SECOND_NS)
		return 0;
	return flush(w);
}

uint64_t trace_dropped(const struct trace_writer *w)
{
	return w->dropped;
}

uint64_t trace_bytes(const struct trace_writer *w)
{
	return w->tape.pos;
}

bool trace_unread(const struct trace_writer *w)
{
	return w->first.code == EPIPE;
}

static int put_end(struct trace_writer *w)
{
	w->retry_ns = 0;
	w->keep = 0;
	buf_reset(&w->raw);
	w->raw.failed = false;
	buf_varint(&w->raw, w->seq + 1);
	buf_varint(&w->raw, w->event_cnt);
	buf_varint(&w->raw, w->dropped);
	return put_frame(w, FRAME_END, &w->raw, 0, w->now_ns);
}

int trace_writer_close(struct trace_writer *w, struct err *err)
{
	/* The reserve is used now: for the ledger, the last events, the loss events, and END. */
	w->keep = END_RESERVE;
	w->retry_ns = 0;
	flush(w);
	if (w->defs_lost) {
		next_segment(w);
		repeat_all(w);
	}
	w->retry_ns = 0;
	write_lost(w);
	flush(w);
	put_end(w);
	remember(w, tape_close(&w->tape), "cannot close the trace");
	int rc = -w->first.code;
	if (err && rc)
		*err = w->first;
	writer_free(w);
	return rc;
}
