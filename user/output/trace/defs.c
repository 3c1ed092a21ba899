/* SPDX-License-Identifier: Apache-2.0 */
/* trace/defs: see defs.h. */
#include "trace/defs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "trace/framing.h"

#define SYMBOL_HAS_NAME 1
#define SYMBOL_HAS_FILE 2
#define SYMBOL_INLINED 4
#define SYMBOL_OWNED 8 /* a following symbol has its owner */
#define SYMBOL_ALLOCATOR 64
#define SYMBOL_QUALITY_SHIFT 4

struct def_scratch {
	char text[3][TRACE_TEXT_MAX + 1];
	struct frame frames[TRACE_STACK_MAX];
	struct symbol symbols[TRACE_INLINE_MAX];
};

static void put_text(struct buf *b, const char *s)
{
	size_t n = s ? strnlen(s, TRACE_TEXT_MAX) : 0;
	buf_varint(b, n);
	buf_add(b, s, n);
}

void def_meta(struct buf *b, const char *key, const char *value)
{
	put_text(b, key);
	put_text(b, value);
}

void def_proc(struct buf *b, const struct proc *p)
{
	buf_varint(b, p->id.n);
	buf_varint(b, p->parent.n);
	buf_varint(b, p->tgid);
	buf_varint(b, p->generation);
	buf_varint(b, p->start_ns);
	put_text(b, p->comm);
	put_text(b, p->exe);
	if (p->subject || (p->attributes && *p->attributes))
		put_text(b, p->attributes ?: "");
	if (p->subject)
		buf_varint(b, p->subject);
}

void def_module(struct buf *b, const struct module *m)
{
	buf_varint(b, m->id.n);
	put_text(b, m->path);
	buf_varint(b, m->dev);
	buf_varint(b, m->ino);
	buf_varint(b, m->build_id_sz);
	buf_add(b, m->build_id, m->build_id_sz);
}

void def_mapping(struct buf *b, const struct mapping *m)
{
	buf_varint(b, m->id.n);
	buf_varint(b, m->proc.n);
	buf_varint(b, m->module.n);
	buf_varint(b, m->start);
	buf_varint(b, m->end - m->start);
	buf_varint(b, m->bias);
}

void def_stack(struct buf *b, const struct stack *s)
{
	bool cut = s->n > TRACE_STACK_MAX;
	uint32_t n = cut ? TRACE_STACK_MAX : s->n;
	struct frame before = { 0 };
	buf_varint(b, s->id.n);
	buf_varint(b, s->proc.n);
	buf_u8(b, cut ? STACK_END_TRUNCATED : s->end);
	buf_varint(b, n);
	for (uint32_t i = 0; i < n; i++) {
		buf_zigzag(b, (int64_t)s->frames[i].map.n - before.map.n);
		buf_zigzag(b, (int64_t)(s->frames[i].rel - before.rel));
		before = s->frames[i];
	}
	if (s->type)
		put_text(b, s->type);
}

static uint8_t owner_bits(const struct symbol *y)
{
	return (y->owner != SYMBOL_OWNER_UNKNOWN ? SYMBOL_OWNED : 0) |
	       (y->owner == SYMBOL_OWNER_ALLOCATOR ? SYMBOL_ALLOCATOR : 0);
}

static enum symbol_owner owner_of(uint8_t bits)
{
	if (!(bits & SYMBOL_OWNED))
		return SYMBOL_OWNER_UNKNOWN;
	return bits & SYMBOL_ALLOCATOR ? SYMBOL_OWNER_ALLOCATOR : SYMBOL_OWNER_PROGRAM;
}

void def_symbols(struct buf *b, struct module_id m, uint64_t pc, const struct symbols *s)
{
	size_t n = s->n > TRACE_INLINE_MAX ? TRACE_INLINE_MAX : s->n;
	buf_varint(b, m.n);
	buf_varint(b, pc);
	buf_varint(b, n);
	for (size_t i = 0; i < n; i++) {
		/* If the list is truncated, the last one is still the physical function. */
		const struct symbol *y = &s->at[i + 1 == n ? s->n - 1 : i];
		buf_u8(b,
		       (uint8_t)((y->name ? SYMBOL_HAS_NAME : 0) | (y->file ? SYMBOL_HAS_FILE : 0) |
				 (y->inlined ? SYMBOL_INLINED : 0) | (y->quality & 3) << SYMBOL_QUALITY_SHIFT | owner_bits(y)));
		if (y->name)
			put_text(b, y->name);
		if (y->file)
			put_text(b, y->file);
		buf_varint(b, y->line);
		buf_varint(b, y->column);
	}
}

void def_count(struct buf *b, const struct count *n)
{
	buf_u8(b, n->class);
	buf_varint(b, n->value);
	put_text(b, n->name);
	put_text(b, n->help);
}

void def_older(struct buf *b, const struct older *o)
{
	buf_varint(b, o->proc.n);
	put_text(b, o->type);
	buf_varint(b, o->cnt);
	buf_varint(b, o->bytes);
}

void def_erlang_process(struct buf *b, const struct erlang_process *w)
{
	buf_varint(b, w->proc.n);
	buf_varint(b, w->process);
	put_text(b, w->name);
}

void def_called(struct buf *b, const struct called *n)
{
	buf_varint(b, n->proc.n);
	buf_varint(b, n->stack.n);
	buf_varint(b, n->calls);
}

static uint32_t get_id(struct cursor *c)
{
	uint64_t v = cursor_varint(c);
	c->bad = c->bad || v > UINT32_MAX;
	return (uint32_t)v;
}

static const char *get_text(struct cursor *c, struct def_scratch *s, int which)
{
	cursor_lenstr(c, s->text[which], sizeof(s->text[which]));
	return s->text[which];
}

static int get_meta(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	const char *key = get_text(c, s, 0), *value = get_text(c, s, 1);
	return c->bad ? -EBADMSG : catalog_put_meta(to, key, value);
}

static int get_proc(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct proc p = { .id.n = get_id(c) };
	p.parent.n = get_id(c);
	p.tgid = get_id(c);
	p.generation = get_id(c);
	p.start_ns = cursor_varint(c);
	p.comm = get_text(c, s, 0);
	p.exe = get_text(c, s, 1);
	p.attributes = cursor_left(c) ? get_text(c, s, 2) : NULL;
	uint64_t subject = cursor_left(c) ? cursor_varint(c) : SUBJECT_ALLOCATIONS;
	p.subject = subject < SUBJECT_CNT ? (uint8_t)subject : SUBJECT_CNT;
	return c->bad ? -EBADMSG : catalog_put_proc(to, &p);
}

static int get_module(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct module m = { .id.n = get_id(c) };
	m.path = get_text(c, s, 0);
	m.dev = cursor_varint(c);
	m.ino = cursor_varint(c);
	uint64_t n = cursor_varint(c);
	const void *id = cursor_bytes(c, n);
	if (!id || n > BUILD_ID_MAX)
		return -EBADMSG;
	memcpy(m.build_id, id, n);
	m.build_id_sz = (uint8_t)n;
	return c->bad ? -EBADMSG : catalog_put_module(to, &m);
}

static int get_mapping(struct cursor *c, struct catalog *to)
{
	struct mapping m = { .id.n = get_id(c) };
	m.proc.n = get_id(c);
	m.module.n = get_id(c);
	m.start = cursor_varint(c);
	m.end = m.start + cursor_varint(c);
	m.bias = cursor_varint(c);
	return c->bad ? -EBADMSG : catalog_put_mapping(to, &m);
}

static int get_stack(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct stack k = { .id.n = get_id(c), .frames = s->frames };
	struct frame before = { 0 };
	k.proc.n = get_id(c);
	k.end = cursor_u8(c);
	k.n = get_id(c);
	if (c->bad || k.n > TRACE_STACK_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < k.n && !c->bad; i++) {
		before.map.n += (uint32_t)cursor_zigzag(c);
		before.rel += (uint64_t)cursor_zigzag(c);
		s->frames[i] = before;
	}
	if (!c->bad && cursor_left(c))
		k.type = get_text(c, s, 0);
	return c->bad ? -EBADMSG : catalog_put_stack(to, &k);
}

/* NULL: no text, or out of memory (*failed). */
static const char *get_shared_text(struct cursor *c, struct def_scratch *s, struct catalog *to, bool there, bool *failed)
{
	if (!there)
		return NULL;
	const char *kept = catalog_text(to, get_text(c, s, 0));
	*failed = *failed || !kept;
	return kept;
}

static int get_symbols(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct module_id m = { get_id(c) };
	uint64_t pc = cursor_varint(c), n = cursor_varint(c);
	bool failed = false;
	if (c->bad || n > TRACE_INLINE_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !c->bad; i++) {
		uint8_t bits = cursor_u8(c);
		struct symbol *y = &s->symbols[i];
		y->name = get_shared_text(c, s, to, bits & SYMBOL_HAS_NAME, &failed);
		y->file = get_shared_text(c, s, to, bits & SYMBOL_HAS_FILE, &failed);
		y->inlined = bits & SYMBOL_INLINED;
		y->quality = bits >> SYMBOL_QUALITY_SHIFT & 3;
		y->owner = owner_of(bits);
		y->line = get_id(c);
		y->column = get_id(c);
	}
	if (failed)
		return -ENOMEM;
	struct symbols all = { .n = n, .at = s->symbols };
	return c->bad ? -EBADMSG : catalog_put_symbols(to, m, pc, &all);
}

static int get_count(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct count n = { .class = cursor_u8(c) };
	n.value = cursor_varint(c);
	n.name = get_text(c, s, 0);
	n.help = get_text(c, s, 1);
	return c->bad ? -EBADMSG : catalog_put_count(to, &n);
}

static int get_older(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct older o = { .proc.n = get_id(c) };
	o.type = get_text(c, s, 0);
	o.cnt = cursor_varint(c);
	o.bytes = cursor_varint(c);
	return c->bad ? -EBADMSG : catalog_put_older(to, &o);
}

static int get_called(struct cursor *c, struct catalog *to)
{
	struct called n = { .proc.n = get_id(c) };
	n.stack.n = get_id(c);
	n.calls = cursor_varint(c);
	return c->bad ? -EBADMSG : catalog_put_called(to, &n);
}

static int get_erlang_process(struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	struct erlang_process w = { .proc.n = get_id(c) };
	w.process = cursor_varint(c);
	w.name = get_text(c, s, 0);
	return c->bad ? -EBADMSG : catalog_put_erlang_process(to, &w);
}

static int get_record(uint64_t kind, struct cursor *c, struct def_scratch *s, struct catalog *to)
{
	switch (kind) {
	case DEF_META: return get_meta(c, s, to);
	case DEF_PROC: return get_proc(c, s, to);
	case DEF_MODULE: return get_module(c, s, to);
	case DEF_MAPPING: return get_mapping(c, to);
	case DEF_STACK: return get_stack(c, s, to);
	case DEF_SYMBOLS: return get_symbols(c, s, to);
	case DEF_COUNT: return get_count(c, s, to);
	case DEF_OLDER: return get_older(c, s, to);
	case DEF_CALLED: return get_called(c, to);
	case DEF_ERLANG_PROCESS: return get_erlang_process(c, s, to);
	default: return 0;
	}
}

int defs_decode(const void *data, size_t n, struct def_scratch *s, struct catalog *c)
{
	struct cursor all = cursor_over(data, n);
	int worst = 0;
	while (cursor_left(&all)) {
		uint64_t kind = cursor_varint(&all);
		struct cursor body = cursor_sub(&all, cursor_varint(&all));
		if (all.bad)
			return -EBADMSG;
		int rc = get_record(kind, &body, s, c);
		if (rc == -ENOMEM)
			return rc;
		worst = rc ? -EBADMSG : worst;
	}
	return worst;
}

struct def_scratch *def_scratch_new(void)
{
	return malloc(sizeof(struct def_scratch));
}

void def_scratch_free(struct def_scratch *s)
{
	free(s);
}
