/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_graph: see malloc_graph.h. */
#include "mallocview/malloc_graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct scanning {
	struct graph *g;
	const struct malloc_copy *from;
	uint64_t low, high; /* of all blocks: most words are not even near */
	size_t edges_cap;
};

/* The block that a word leads to; blocks_cnt: none. */
static size_t find(const struct scanning *s, uint64_t word)
{
	return word < s->low || word >= s->high ? s->from->blocks_cnt : malloc_copy_find(s->from, word);
}

static int add_edge(struct scanning *s, struct graph_edge e)
{
	struct graph *g = s->g;
	void *grown = vec_grow(g->out, &s->edges_cap, g->edges_cnt, sizeof(e));
	if (!grown)
		return -ENOMEM;
	g->out = grown;
	g->out[g->edges_cnt++] = e;
	return 0;
}

static int scan_block(struct scanning *s, size_t i)
{
	const struct copied_block *b = &s->from->blocks[i];
	const uint64_t *words = (const void *)(s->from->bytes + b->at);
	uint64_t cnt = b->bytes / 8 < INT32_MAX ? b->bytes / 8 : INT32_MAX;
	int rc = 0;
	for (uint64_t w = 0; w < cnt && !rc; w++) {
		size_t to = find(s, words[w]);
		if (to != s->from->blocks_cnt && to != i)
			rc = add_edge(s, (struct graph_edge){ (uint32_t)to, (uint32_t)w, words[w] != s->from->blocks[to].addr });
	}
	return rc;
}

static int scan_blocks(struct scanning *s)
{
	const struct malloc_copy *from = s->from;
	struct graph *g = s->g;
	int rc = 0;
	for (size_t i = 0; i < from->blocks_cnt && !rc; i++) {
		const struct copied_block *b = &from->blocks[i];
		g->objects[i] = (struct graph_object){
			.addr = b->addr, .size = b->bytes, .type = (uint32_t)b->class + MALLOC_TYPE_BASE, .kind = HEAP_NORMAL
		};
		g->out_first[i] = g->edges_cnt;
		rc = scan_block(s, i);
	}
	g->objects_cnt = from->blocks_cnt;
	g->out_first[g->objects_cnt] = g->edges_cnt;
	return rc;
}

static int scan_root(struct scanning *s, const struct root_range *r)
{
	const uint64_t *words = (const void *)(s->from->roots.bytes + r->at);
	for (uint64_t at = r->start; at + 8 <= r->end; at += 8) {
		size_t to = find(s, words[(at - r->start) / 8]);
		struct graph_root *root = to == s->from->blocks_cnt ? NULL : VEC_PUSH(s->g, roots);
		if (to == s->from->blocks_cnt)
			continue;
		if (!root)
			return -ENOMEM;
		*root = (struct graph_root){ r->kind, r->tid, at, r->start, (uint32_t)to };
	}
	return 0;
}

/* What tells most first: a shortest path begins at the first root that leads to a block. */
static int scan_roots(struct scanning *s)
{
	static const enum root_kind order[] = { ROOT_GLOBAL, ROOT_STACK, ROOT_FIBER, ROOT_REGISTERS, ROOT_ANONYMOUS };
	const struct roots *r = &s->from->roots;
	int rc = 0;
	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		for (size_t i = 0; i < r->ranges_cnt && !rc; i++) {
			if (r->bytes && r->ranges[i].kind == order[k])
				rc = scan_root(s, &r->ranges[i]);
		}
	}
	return rc;
}

int malloc_graph_scan(struct graph *g, const struct malloc_copy *c)
{
	struct scanning s = { .g = g, .from = c };
	size_t n = c->blocks_cnt;
	*g = (struct graph){ 0 };
	if (n >= GRAPH_NONE)
		return -EFBIG;
	s.low = n ? c->blocks[0].addr : 0;
	s.high = n ? c->blocks[n - 1].addr + c->blocks[n - 1].bytes : 0;
	g->objects = calloc(n + 1, sizeof(*g->objects));
	g->out_first = calloc(n + 1, sizeof(*g->out_first));
	g->out = vec_grow(NULL, &s.edges_cap, 0, sizeof(*g->out));
	int rc = g->objects && g->out_first && g->out ? scan_blocks(&s) : -ENOMEM;
	rc = rc ?: scan_roots(&s);
	return rc ?: graph_finish(g);
}
