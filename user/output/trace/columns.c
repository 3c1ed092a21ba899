/* SPDX-License-Identifier: Apache-2.0 */
/* trace/columns: see columns.h. */
#include "trace/columns.h"

#include "trace/framing.h"

#define TAG_KIND 0x07   /* 0: the kind is in the extras */
#define TAG_WHO 0x08    /* process or thread differ from the event before */
#define TAG_FINE 0x10   /* the address delta is in bytes instead of units of 16 */
#define TAG_EXTRA 0x20  /* an extras mask follows in the extras column */
#define TAG_ATOMIC 0x40 /* EVENT_F_ATOMIC: changes too often to be kept as state */
#define TAG_KNOWN 0x7f

/* Extras: fields that rarely change, or that are unusual for the kind. The first three stay in force until changed. */
#define EXTRA_FLAGS 0x001
#define EXTRA_INTERVAL 0x002
#define EXTRA_GC_NO 0x004
#define EXTRA_LOST_KIND 0x008
#define EXTRA_SIZE 0x010
#define EXTRA_STACK 0x020
#define EXTRA_OLD_ADDR 0x040
#define EXTRA_ENTER 0x080
#define EXTRA_KIND 0x100
#define EXTRA_BATCH 0x200
#define EXTRA_SPAN 0x400
#define EXTRA_KNOWN 0x7ff

static bool has_size(uint8_t kind)
{
	return kind == EVENT_ALLOC || kind == EVENT_REALLOC || kind == EVENT_LOSS;
}

static bool has_stack(uint8_t kind)
{
	return kind == EVENT_ALLOC || kind == EVENT_REALLOC;
}

static unsigned int extras_of(const struct event *e, const struct column_state *s)
{
	uint8_t kind = e->kind < COLUMNS_KINDS ? e->kind : 0;
	unsigned int x = 0;
	x |= (e->flags & ~EVENT_F_ATOMIC) != s->of[kind].flags ? EXTRA_FLAGS : 0;
	x |= e->interval != s->of[kind].interval ? EXTRA_INTERVAL : 0;
	x |= e->gc_no != s->of[kind].gc_no ? EXTRA_GC_NO : 0;
	x |= e->lost_kind ? EXTRA_LOST_KIND : 0;
	x |= e->size && !has_size(kind) ? EXTRA_SIZE : 0;
	x |= e->stack.n && !has_stack(kind) ? EXTRA_STACK : 0;
	x |= e->old_addr && kind != EVENT_REALLOC ? EXTRA_OLD_ADDR : 0;
	x |= e->enter_ns && kind != EVENT_REALLOC ? EXTRA_ENTER : 0;
	x |= kind == 0 ? EXTRA_KIND : 0;
	x |= e->batch ? EXTRA_BATCH : 0;
	x |= e->span ? EXTRA_SPAN : 0;
	return x;
}

static void put_extras(struct buf *b, const struct event *e, unsigned int x, struct column_state *s)
{
	uint8_t kind = e->kind < COLUMNS_KINDS ? e->kind : 0;
	buf_varint(b, x);
	if (x & EXTRA_FLAGS)
		buf_u8(b, s->of[kind].flags = e->flags & (uint8_t)~EVENT_F_ATOMIC);
	if (x & EXTRA_INTERVAL)
		buf_varint(b, s->of[kind].interval = e->interval);
	if (x & EXTRA_GC_NO)
		buf_varint(b, s->of[kind].gc_no = e->gc_no);
	if (x & EXTRA_LOST_KIND)
		buf_u8(b, e->lost_kind);
	if (x & EXTRA_SIZE)
		buf_varint(b, e->size);
	if (x & EXTRA_STACK)
		buf_varint(b, e->stack.n);
	if (x & EXTRA_OLD_ADDR)
		buf_varint(b, e->old_addr);
	if (x & EXTRA_ENTER)
		buf_varint(b, e->enter_ns);
	if (x & EXTRA_KIND)
		buf_u8(b, e->kind);
	if (x & EXTRA_BATCH)
		buf_varint(b, e->batch);
	if (x & EXTRA_SPAN)
		buf_varint(b, e->span);
}

static void put_gc(struct buf *b, const struct event *e)
{
	buf_varint(b, e->gc.pause_ns);
	buf_varint(b, e->gc.heap_sz);
	buf_varint(b, e->gc.live_sz);
	buf_varint(b, e->gc.dead_cnt);
	buf_varint(b, e->gc.dead_sz);
}

static void get_gc(struct cursor *c, struct event *e)
{
	e->gc.pause_ns = cursor_varint(c);
	e->gc.heap_sz = cursor_varint(c);
	e->gc.live_sz = cursor_varint(c);
	e->gc.dead_cnt = cursor_varint(c);
	e->gc.dead_sz = cursor_varint(c);
}

/* Nearly all allocators align blocks to 16 bytes, which saves four bits per delta. */
static uint8_t put_addr(struct buf *b, uint64_t addr, struct column_state *s)
{
	int64_t step = (int64_t)(addr - s->addr);
	s->addr = addr;
	buf_zigzag(b, step & 15 ? step : step / 16);
	return step & 15 ? TAG_FINE : 0;
}

void columns_put(struct column_writer *w, const struct event *e)
{
	struct column_state *s = &w->state;
	uint8_t kind = e->kind < COLUMNS_KINDS ? e->kind : 0;
	uint8_t tag = kind | (e->flags & EVENT_F_ATOMIC ? TAG_ATOMIC : 0);
	if (e->proc.n != s->proc || e->tid != s->tid) {
		tag |= TAG_WHO;
		buf_varint(&w->col[COL_WHO], s->proc = e->proc.n);
		buf_varint(&w->col[COL_WHO], s->tid = e->tid);
	}
	buf_zigzag(&w->col[COL_TIME], (int64_t)(e->time_ns - s->time_ns));
	s->time_ns = e->time_ns;
	tag |= put_addr(&w->col[COL_ADDR], e->addr, s);
	if (has_size(kind))
		buf_varint(&w->col[COL_SIZE], e->size);
	if (has_stack(kind))
		buf_varint(&w->col[COL_STACK], e->stack.n);
	if (kind == EVENT_REALLOC) {
		buf_zigzag(&w->col[COL_REALLOC], (int64_t)(e->old_addr - e->addr));
		buf_zigzag(&w->col[COL_REALLOC], (int64_t)(e->time_ns - e->enter_ns));
	}
	if (e->kind == EVENT_GC)
		put_gc(&w->col[COL_GC], e);
	unsigned int extras = extras_of(e, s);
	if (extras) {
		tag |= TAG_EXTRA;
		put_extras(&w->col[COL_EXTRA], e, extras, s);
	}
	buf_u8(&w->col[COL_TAG], tag);
	w->cnt++;
	w->last_ns = e->time_ns;
	if (kind == EVENT_LOSS) {
		w->tally.of[e->lost_kind < COLUMNS_KINDS ? e->lost_kind : 0] += e->size;
	} else {
		w->tally.of[kind]++;
	}
	w->tally.silent += kind == EVENT_LOSS || e->flags & EVENT_F_CARRIED;
}

size_t columns_size(const struct column_writer *w)
{
	size_t n = 0;
	for (int i = 0; i < COL_CNT; i++)
		n += w->col[i].len;
	return n;
}

void columns_finish(struct column_writer *w, struct buf *out)
{
	buf_varint(out, COL_CNT);
	for (int i = 0; i < COL_CNT; i++)
		buf_varint(out, w->col[i].len);
	for (int i = 0; i < COL_CNT; i++) {
		buf_add(out, w->col[i].data, w->col[i].len);
		out->failed = out->failed || w->col[i].failed;
		w->col[i].failed = false;
		buf_reset(&w->col[i]);
	}
	w->state = (struct column_state){ 0 };
	w->tally = (struct column_tally){ 0 };
	w->cnt = 0;
}

void columns_free(struct column_writer *w)
{
	for (int i = 0; i < COL_CNT; i++)
		buf_free(&w->col[i]);
}

bool columns_open(struct column_reader *r, const void *data, size_t n, uint32_t count)
{
	struct cursor c = cursor_over(data, n);
	uint64_t len[COL_CNT] = { 0 };
	uint64_t cols = cursor_varint(&c);
	*r = (struct column_reader){ .left = count };
	if (cols < COL_LEAST || count > FRAME_EVENTS_MAX)
		return false;
	/* Older files have fewer columns; newer minor versions append columns, which are ignored. */
	for (uint64_t i = 0; i < cols && !c.bad; i++) {
		uint64_t l = cursor_varint(&c);
		if (i < COL_CNT)
			len[i] = l;
	}
	for (int i = 0; i < COL_CNT && !c.bad; i++)
		r->col[i] = cursor_sub(&c, len[i]);
	return !c.bad && cursor_left(&r->col[COL_TAG]) == count;
}

static bool get_extras(struct cursor *c, struct event *e, struct column_state *s, uint8_t kind)
{
	uint64_t x = cursor_varint(c);
	if (x & ~(uint64_t)EXTRA_KNOWN)
		return false;
	if (x & EXTRA_FLAGS)
		s->of[kind].flags = cursor_u8(c) & (uint8_t)~EVENT_F_ATOMIC;
	if (x & EXTRA_INTERVAL)
		s->of[kind].interval = cursor_varint(c);
	if (x & EXTRA_GC_NO)
		s->of[kind].gc_no = (uint32_t)cursor_varint(c);
	if (x & EXTRA_LOST_KIND)
		e->lost_kind = cursor_u8(c);
	if (x & EXTRA_SIZE)
		e->size = cursor_varint(c);
	if (x & EXTRA_STACK)
		e->stack.n = (uint32_t)cursor_varint(c);
	if (x & EXTRA_OLD_ADDR)
		e->old_addr = cursor_varint(c);
	if (x & EXTRA_ENTER)
		e->enter_ns = cursor_varint(c);
	if (x & EXTRA_KIND)
		e->kind = cursor_u8(c);
	if (x & EXTRA_BATCH)
		e->batch = (uint32_t)cursor_varint(c);
	if (x & EXTRA_SPAN)
		e->span = (uint32_t)cursor_varint(c);
	return !c->bad;
}

static bool any_bad(const struct column_reader *r)
{
	bool bad = false;
	for (int i = 0; i < COL_CNT; i++)
		bad |= r->col[i].bad;
	return bad;
}

bool columns_next(struct column_reader *r, struct event *e)
{
	struct column_state *s = &r->state;
	if (!r->left)
		return false;
	uint8_t tag = cursor_u8(&r->col[COL_TAG]), kind = tag & TAG_KIND;
	*e = (struct event){ .kind = kind };
	if (tag & TAG_WHO) {
		s->proc = (uint32_t)cursor_varint(&r->col[COL_WHO]);
		s->tid = (uint32_t)cursor_varint(&r->col[COL_WHO]);
	}
	e->proc.n = s->proc;
	e->tid = s->tid;
	e->time_ns = s->time_ns += (uint64_t)cursor_zigzag(&r->col[COL_TIME]);
	uint64_t step = (uint64_t)cursor_zigzag(&r->col[COL_ADDR]);
	e->addr = s->addr += tag & TAG_FINE ? step : step * 16;
	if (has_size(kind))
		e->size = cursor_varint(&r->col[COL_SIZE]);
	if (has_stack(kind))
		e->stack.n = (uint32_t)cursor_varint(&r->col[COL_STACK]);
	if (kind == EVENT_REALLOC) {
		e->old_addr = e->addr + (uint64_t)cursor_zigzag(&r->col[COL_REALLOC]);
		e->enter_ns = e->time_ns - (uint64_t)cursor_zigzag(&r->col[COL_REALLOC]);
	}
	if (tag & TAG_EXTRA && !get_extras(&r->col[COL_EXTRA], e, s, kind))
		return false;
	if (e->kind == EVENT_GC)
		get_gc(&r->col[COL_GC], e);
	e->flags = s->of[kind].flags | (tag & TAG_ATOMIC ? EVENT_F_ATOMIC : 0);
	e->interval = s->of[kind].interval;
	e->gc_no = s->of[kind].gc_no;
	if (tag & ~TAG_KNOWN || any_bad(r))
		return false;
	r->left--;
	return true;
}
