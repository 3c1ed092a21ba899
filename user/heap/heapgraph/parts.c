/* SPDX-License-Identifier: Apache-2.0 */
/* heapgraph/parts: see parts.h. */
#include "heapgraph/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum part { PART_FACTS = 1, PART_TYPES, PART_OBJECTS, PART_EDGES, PART_ROOTS };

#define VERSION 2
#define VERSION_WITHOUT_INSIDE 1
#define PART_AIM (256u << 10)
#define RUN_MAX 4096 /* edges per record */
#define TEXT_MAX 4096
#define MARKED 128

struct writing {
	const struct picture *p;
	int (*put)(void *ctx, const struct buf *part);
	void *ctx;
	struct buf part;
};

static void put_text(struct buf *b, const char *text)
{
	size_t n = strnlen(text, TEXT_MAX);
	buf_varint(b, n);
	buf_add(b, text, n);
	buf_u8(b, 0);
}

/* Hands the collected part to put, then begins a new part of this kind. */
static int flush_part(struct writing *w, enum part kind)
{
	int rc = w->part.failed ? -ENOMEM : w->part.len > 1 ? w->put(w->ctx, &w->part) : 0;
	buf_reset(&w->part);
	buf_u8(&w->part, kind);
	return rc;
}

static int flush_full_part(struct writing *w, enum part kind)
{
	return w->part.len < PART_AIM ? 0 : flush_part(w, kind);
}

static int put_facts(struct writing *w, const struct parts_facts *f)
{
	const struct graph *g = w->p->graph;
	const uint64_t numbers[] = { VERSION,        f->tgid,       f->start_ns, f->read_ns,        f->gc_no,
				     f->frozen_ns,   f->unreadable, f->live,     f->unknown_stacks, f->torn,
				     g->objects_cnt, g->edges_cnt,  g->roots_cnt };
	int rc = flush_part(w, PART_FACTS);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		buf_varint(&w->part, numbers[i]);
	put_text(&w->part, f->comm);
	put_text(&w->part, f->exe);
	return rc;
}

static int put_types(struct writing *w)
{
	const struct types *t = w->p->types;
	const struct fields *f = w->p->fields;
	int rc = flush_part(w, PART_TYPES);
	for (size_t i = 0; i < t->names_cnt && !rc; i++) {
		const struct type_name *n = &t->names[i];
		const struct field_class *c = f ? fields_class(f, n->name) : NULL;
		buf_varint(&w->part, n->id);
		buf_u8(&w->part, (uint8_t)n->known);
		put_text(&w->part, n->name);
		buf_varint(&w->part, c ? c->size : 0);
		uint32_t cnt = c && c->cnt < RUN_MAX ? c->cnt : 0;
		buf_varint(&w->part, cnt);
		for (uint32_t k = 0; k < cnt; k++) {
			buf_varint(&w->part, f->all[c->first + k].offset);
			put_text(&w->part, f->all[c->first + k].name);
		}
		rc = flush_full_part(w, PART_TYPES);
	}
	return rc;
}

static int put_objects(struct writing *w)
{
	const struct graph *g = w->p->graph;
	uint64_t end = 0;
	int rc = flush_part(w, PART_OBJECTS);
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		const struct graph_object *o = &g->objects[i];
		buf_varint(&w->part, o->addr - end);
		buf_varint(&w->part, o->size);
		buf_varint(&w->part, o->asked);
		buf_varint(&w->part, o->type);
		buf_varint(&w->part, o->site);
		buf_u8(&w->part, (o->kind & (MARKED - 1)) | (o->marked ? MARKED : 0));
		end = o->addr + o->size;
		rc = flush_full_part(w, PART_OBJECTS);
	}
	return rc;
}

static int put_edges(struct writing *w)
{
	const struct graph *g = w->p->graph;
	uint64_t last = 0;
	int rc = flush_part(w, PART_EDGES);
	for (size_t i = 0; i < g->objects_cnt && !rc; i++) {
		uint64_t e = g->out_first[i], end = g->out_first[i + 1], word = 0;
		while (e < end && !rc) {
			uint64_t n = end - e < RUN_MAX ? end - e : RUN_MAX;
			buf_varint(&w->part, i - last);
			buf_varint(&w->part, n);
			for (uint64_t to = e + n; e < to; e++) {
				buf_varint(&w->part, (g->out[e].word - word) << 1 | g->out[e].inside);
				buf_zigzag(&w->part, (int64_t)g->out[e].other - (int64_t)i);
				word = g->out[e].word;
			}
			last = i;
			rc = flush_full_part(w, PART_EDGES);
		}
	}
	return rc;
}

static int put_roots(struct writing *w)
{
	const struct graph *g = w->p->graph;
	struct buf name = { 0 };
	int rc = flush_part(w, PART_ROOTS);
	for (size_t i = 0; i < g->roots_cnt && !rc; i++) {
		const struct graph_root *r = &g->roots[i];
		buf_reset(&name);
		if (w->p->root_name)
			w->p->root_name(w->p->ctx, r, &name);
		buf_u8(&w->part, (uint8_t)r->kind);
		buf_varint(&w->part, r->tid);
		buf_varint(&w->part, r->addr);
		buf_varint(&w->part, r->range);
		buf_varint(&w->part, r->to);
		put_text(&w->part, buf_str(&name));
		rc = flush_full_part(w, PART_ROOTS);
	}
	buf_free(&name);
	return rc;
}

int parts_encode(const struct picture *p, const struct parts_facts *facts, int (*put)(void *ctx, const struct buf *part),
		 void *ctx)
{
	struct writing w = { .p = p, .put = put, .ctx = ctx };
	int rc = put_facts(&w, facts);
	if (!rc)
		rc = put_types(&w);
	if (!rc)
		rc = put_objects(&w);
	if (!rc)
		rc = put_edges(&w);
	if (!rc)
		rc = put_roots(&w);
	if (!rc)
		rc = flush_part(&w, PART_ROOTS);
	buf_free(&w.part);
	return rc;
}

/* Borrowed: valid as long as the part. */
static const char *take_text(struct cursor *c)
{
	uint64_t n = cursor_varint(c);
	const char *text = n <= TEXT_MAX ? cursor_bytes(c, n + 1) : NULL;
	c->bad |= !text || text[n];
	return c->bad ? "" : text;
}

static int spend(struct parts_reader *r, uint64_t bytes)
{
	r->used += bytes;
	return r->used > r->max_bytes ? -EFBIG : 0;
}

/* A copy that lives as long as the reader; texts point into it. */
static const uint8_t *keep(struct parts_reader *r, const void *bytes, size_t n)
{
	void **to = spend(r, n) ? NULL : VEC_PUSH(r, kept);
	if (to)
		*to = malloc(n + 1);
	if (!to || !*to)
		return NULL;
	return memcpy(*to, bytes, n);
}

static int take_facts(struct parts_reader *r, struct cursor *c)
{
	struct parts_facts *f = &r->facts;
	r->version = f->comm ? 0 : cursor_varint(c);
	if (r->version != VERSION && r->version != VERSION_WITHOUT_INSIDE)
		return -EBADMSG;
	f->tgid = (uint32_t)cursor_varint(c);
	f->start_ns = cursor_varint(c);
	f->read_ns = cursor_varint(c);
	f->gc_no = cursor_varint(c);
	f->frozen_ns = cursor_varint(c);
	f->unreadable = cursor_varint(c);
	uint64_t live = cursor_varint(c);
	f->live = live == GRAPH_IN_USE ? GRAPH_IN_USE : live ? GRAPH_MARKED : GRAPH_REACHED;
	f->unknown_stacks = (uint32_t)cursor_varint(c);
	f->torn = cursor_varint(c);
	f->objects = cursor_varint(c);
	f->edges = cursor_varint(c);
	f->roots = cursor_varint(c);
	f->comm = take_text(c);
	f->exe = take_text(c);
	return 0;
}

static int take_type(struct parts_reader *r, struct cursor *c)
{
	struct field_class class = { .first = r->fields->all_cnt };
	uint32_t id = (uint32_t)cursor_varint(c);
	uint8_t known = cursor_u8(c);
	class.name = take_text(c);
	class.size = cursor_varint(c);
	uint64_t cnt = cursor_varint(c);
	if (c->bad || cnt > RUN_MAX || known > TYPE_ALWAYS)
		return -EBADMSG;
	for (uint64_t k = 0; k < cnt; k++) {
		struct field f = { .offset = (uint32_t)cursor_varint(c) };
		f.name = take_text(c);
		if (c->bad)
			return -EBADMSG;
		struct field *to = spend(r, sizeof(f)) ? NULL : VEC_PUSH(r->fields, all);
		if (!to)
			return -ENOMEM;
		*to = f;
		class.cnt++;
	}
	int rc = spend(r, sizeof(class) + 128);
	if (!rc)
		rc = types_put(r->types, id, class.name, strlen(class.name), known);
	return rc ? rc : fields_add(r->fields, &class);
}

static int take_object(struct parts_reader *r, struct cursor *c)
{
	struct graph_object o = { 0 };
	o.addr = r->end + cursor_varint(c);
	o.size = cursor_varint(c);
	o.asked = cursor_varint(c);
	o.type = (uint32_t)cursor_varint(c);
	o.site = (uint32_t)cursor_varint(c);
	uint8_t kind = cursor_u8(c);
	o.kind = kind & (MARKED - 1);
	o.marked = kind & MARKED;
	if (c->bad || o.addr < r->end || !o.size || o.addr + o.size < o.addr || r->graph->out_first)
		return -EBADMSG;
	r->end = o.addr + o.size;
	struct graph_object *to = spend(r, 2 * sizeof(o)) ? NULL : VEC_PUSH(r->graph, objects);
	if (!to)
		return -ENOMEM;
	*to = o;
	return 0;
}

/* All edges of the objects before `to` are known: sets where their ranges begin. */
static int fill_firsts(struct parts_reader *r, uint64_t to)
{
	struct graph *g = r->graph;
	if (!g->out_first) {
		g->out_first = calloc(g->objects_cnt + 1, sizeof(*g->out_first));
		if (!g->out_first)
			return -ENOMEM;
		r->holder = 0;
	}
	for (; r->holder < to; r->holder++)
		g->out_first[r->holder + 1] = g->edges_cnt;
	return 0;
}

static int add_edge(struct parts_reader *r, struct graph_edge e)
{
	struct graph *g = r->graph;
	void *grown = spend(r, 3 * sizeof(e)) ? NULL : vec_grow(g->out, &r->edges_cap, g->edges_cnt, sizeof(e));
	if (!grown)
		return -ENOMEM;
	g->out = grown;
	g->out[g->edges_cnt++] = e;
	return 0;
}

static int take_edges(struct parts_reader *r, struct cursor *c)
{
	uint64_t step = cursor_varint(c), n = cursor_varint(c), holder = r->holder + step;
	if (c->bad || holder < step || holder >= r->graph->objects_cnt || !n || n > RUN_MAX)
		return -EBADMSG;
	if (step)
		r->word = 0;
	int rc = fill_firsts(r, holder);
	while (n-- && !rc) {
		uint64_t step_on = cursor_varint(c);
		bool inside = r->version != VERSION_WITHOUT_INSIDE && step_on & 1;
		r->word += r->version == VERSION_WITHOUT_INSIDE ? step_on : step_on >> 1;
		int64_t other = cursor_zigzag(c) + (int64_t)holder;
		if (c->bad || r->word > INT32_MAX || other < 0 || other >= GRAPH_NONE)
			return -EBADMSG;
		rc = add_edge(r, (struct graph_edge){ (uint32_t)other, (uint32_t)r->word, inside });
	}
	return rc;
}

static int take_root(struct parts_reader *r, struct cursor *c)
{
	struct graph_root root = { .kind = cursor_u8(c) };
	root.tid = (uint32_t)cursor_varint(c);
	root.addr = cursor_varint(c);
	root.range = cursor_varint(c);
	uint64_t to = cursor_varint(c);
	const char *name = take_text(c);
	if (c->bad || root.kind >= ROOT_KIND_CNT || to >= GRAPH_NONE)
		return -EBADMSG;
	root.to = (uint32_t)to;
	if (spend(r, sizeof(root) + sizeof(name)))
		return -EFBIG;
	struct graph_root *at = VEC_PUSH(r->graph, roots);
	const char **named = VEC_PUSH(r, root_names);
	if (!at || !named)
		return -ENOMEM;
	*at = root;
	*named = name;
	return 0;
}

int parts_take(struct parts_reader *r, const void *bytes, size_t n)
{
	static int (*const takers[])(struct parts_reader * r, struct cursor * c) = {
		[PART_FACTS] = take_facts, [PART_TYPES] = take_type, [PART_OBJECTS] = take_object,
		[PART_EDGES] = take_edges, [PART_ROOTS] = take_root,
	};
	struct cursor c = cursor_over(bytes, n);
	uint8_t kind = cursor_u8(&c);
	bool texts = kind == PART_FACTS || kind == PART_TYPES || kind == PART_ROOTS;
	if (c.bad || !kind || kind > PART_ROOTS || (kind != PART_FACTS && !r->facts.comm))
		return -EBADMSG;
	const uint8_t *kept = texts ? keep(r, c.at, cursor_left(&c)) : NULL;
	if (texts && !kept)
		return r->used > r->max_bytes ? -EFBIG : -ENOMEM;
	if (texts)
		c = cursor_over(kept, cursor_left(&c));
	int rc = 0;
	while (!rc && cursor_left(&c))
		rc = takers[kind](r, &c);
	if (!rc && c.bad)
		rc = -EBADMSG;
	return rc == -ENOMEM && r->used > r->max_bytes ? -EFBIG : rc;
}

int parts_end(struct parts_reader *r)
{
	struct graph *g = r->graph;
	if (!r->facts.comm || r->facts.objects != g->objects_cnt || r->facts.edges != g->edges_cnt ||
	    r->facts.roots != g->roots_cnt)
		return -EBADMSG;
	int rc = fill_firsts(r, g->objects_cnt);
	if (!rc && !g->out)
		g->out = calloc(1, sizeof(*g->out));
	return rc ? rc : !g->out ? -ENOMEM : graph_finish(g);
}

void parts_reader_free(struct parts_reader *r)
{
	for (size_t i = 0; i < r->kept_cnt; i++)
		free(r->kept[i]);
	free(r->kept);
	free(r->root_names);
}
