/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/graph: see graph.h.
 *
 *   roots -> queue -> each object once: its words -> edges, new objects -> queue
 *   queue order -> address order; edges grouped by holder (out) and by target (in)
 */
#include "heapgraph/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"
#include "boehm/freelists.h"

#define FLAG_IGNORE_OFF_PAGE 1 /* hblkhdr: for this large object, only addresses in its first page count as pointers */

struct reached {
	uint32_t block, index;
};

struct scan {
	struct graph *g;
	const struct boehm_heap *h;
	const struct words *w;
	const struct roots *r;
	struct reached *queue;
	size_t queue_cnt, queue_cap;
	uint32_t *number; /* per object, in the order of marks: index in queue + 1, later index in objects + 1 */
	uint64_t *first;  /* per object in queue: index of its first edge */
	size_t first_cnt, first_cap;
	struct graph_edge *edges; /* other: index in marks */
	size_t edges_cnt, edges_cap;
};

static size_t mark_of(const struct scan *s, size_t block, uint32_t index)
{
	return s->h->blocks[block].marks + index;
}

static bool find(const struct scan *s, uint64_t word, struct heap_object *o)
{
	if (!boehm_heap_find(s->h, word, o))
		return false;
	return !(s->h->blocks[o->block].flags & FLAG_IGNORE_OFF_PAGE) || word - o->base < BOEHM_BLOCK;
}

static int reach(struct scan *s, const struct heap_object *o)
{
	uint32_t *number = &s->number[mark_of(s, o->block, o->index)];
	if (*number)
		return 0;
	struct reached *to = VEC_PUSH(s, queue);
	if (!to)
		return -ENOMEM;
	*to = (struct reached){ (uint32_t)o->block, o->index };
	*number = (uint32_t)s->queue_cnt;
	return 0;
}

/* Scans the words in [from, to) of a copied range. */
static int scan_range(struct scan *s, const struct root_range *g, uint64_t from, uint64_t to)
{
	const uint64_t *words = (const void *)(s->r->bytes + g->at);
	size_t cnt = (to - g->start) / 8;
	struct freelists own = { 0 };
	for (uint64_t at = from; at + 8 <= to; at += 8) {
		struct heap_object o;
		size_t i = (at - g->start) / 8;
		if (g->kind == ROOT_GLOBAL && i >= own.end)
			own = freelists_find(s->h, words, cnt, i);
		if ((i >= own.from && i < own.end) || !find(s, words[i], &o))
			continue;
		struct graph_root *root = VEC_PUSH(s->g, roots);
		if (!root || reach(s, &o))
			return -ENOMEM;
		*root = (struct graph_root){ g->kind, g->tid, at, g->start, (uint32_t)mark_of(s, o.block, o.index) };
	}
	return 0;
}

/*
 * Uncollectable cells are marked even when free. A free one holds the address of the next and zeros; a used cell of
 * this form holds no references, so nothing is missed by skipping it.
 */
static bool looks_free(const struct scan *s, const struct heap_object *o)
{
	size_t n;
	const uint64_t *words = words_of(s->w, s->h, o->block, o->index, &n);
	struct heap_object next;
	if (!words || !n)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (words[i])
			return false;
	}
	return !words[0] ||
	       (boehm_heap_find(s->h, words[0], &next) && next.base == words[0] && next.kind == o->kind && next.size == o->size);
}

static int scan_uncollectable(struct scan *s)
{
	for (size_t b = 0; b < s->h->blocks_cnt; b++) {
		uint8_t kind = s->h->blocks[b].kind;
		for (uint32_t k = 0; k < s->h->blocks[b].objects; k++) {
			struct heap_object o = boehm_heap_object(s->h, b, k);
			if ((kind != HEAP_UNCOLLECTABLE && kind != HEAP_ATOMIC_UNCOLLECTABLE) || !o.marked || looks_free(s, &o))
				continue;
			struct graph_root *root = VEC_PUSH(s->g, roots);
			if (!root || reach(s, &o))
				return -ENOMEM;
			*root = (struct graph_root){ ROOT_UNCOLLECTABLE, 0, o.base, o.base, (uint32_t)mark_of(s, b, k) };
		}
	}
	return 0;
}

/* Takes all marked objects, without following references from the roots. */
static int scan_marked(struct scan *s)
{
	int rc = 0;
	for (size_t b = 0; b < s->h->blocks_cnt && !rc; b++) {
		for (uint32_t k = 0; k < s->h->blocks[b].objects && !rc; k++) {
			struct heap_object o = boehm_heap_object(s->h, b, k);
			rc = o.marked ? reach(s, &o) : 0;
		}
	}
	return rc;
}

static int scan_roots(struct scan *s)
{
	int rc = 0;
	for (size_t i = 0; i < s->r->ranges_cnt && !rc; i++) {
		const struct root_range *g = &s->r->ranges[i];
		if (!g->waits)
			rc = scan_range(s, g, g->start, g->end);
	}
	return rc;
}

/* Adds the edges of one object. only_marked: the collector's marks are trusted, and edges lead only to marked objects. */
static int scan_object(struct scan *s, const struct reached *at, bool only_marked)
{
	size_t n;
	uint64_t top, bottom;
	const uint64_t *words = words_of(s->w, s->h, at->block, at->index, &n);
	uint64_t *first = VEC_PUSH(s, first);
	if (!first)
		return -ENOMEM;
	*first = s->edges_cnt;
	for (size_t i = 0; i < n; i++) {
		struct heap_object o;
		if (!find(s, words[i], &o) || (only_marked && !o.marked))
			continue;
		struct graph_edge *e = VEC_PUSH(s, edges);
		if (!e || reach(s, &o))
			return -ENOMEM;
		*e = (struct graph_edge){ (uint32_t)mark_of(s, o.block, o.index), (uint32_t)i, words[i] != o.base };
	}
	const struct root_range *g = n ? roots_owned(s->r, words, n, &top, &bottom) : NULL;
	return g && g->waits && s->r->bytes ? scan_range(s, g, top, bottom) : 0;
}

/* Blocks are sorted by address, so the order of marks is the order of addresses. */
static int number_objects(struct scan *s, uint32_t **queued, const struct graph_typing *t)
{
	struct graph *g = s->g;
	*queued = malloc((s->queue_cnt + 1) * sizeof(**queued));
	g->objects = calloc(s->queue_cnt + 1, sizeof(*g->objects));
	if (!*queued || !g->objects)
		return -ENOMEM;
	for (size_t b = 0; b < s->h->blocks_cnt; b++) {
		for (uint32_t k = 0; k < s->h->blocks[b].objects; k++) {
			size_t mark = mark_of(s, b, k);
			if (!s->number[mark])
				continue;
			struct heap_object o = boehm_heap_object(s->h, b, k);
			(*queued)[g->objects_cnt] = s->number[mark] - 1;
			g->objects[g->objects_cnt++] = (struct graph_object){
				.addr = o.base,
				.size = o.size,
				.kind = o.kind,
				.marked = o.marked,
				.type = t ? t->type_of(t->ctx, s->w->first[mark], o.size, o.kind) : 0,
			};
			s->number[mark] = (uint32_t)g->objects_cnt;
		}
	}
	return 0;
}

static int place_edges(struct scan *s, const uint32_t *queued)
{
	struct graph *g = s->g;
	g->out_first = malloc((g->objects_cnt + 1) * sizeof(*g->out_first));
	g->out = malloc((s->edges_cnt + 1) * sizeof(*g->out));
	if (!g->out_first || !g->out)
		return -ENOMEM;
	for (size_t i = 0; i < g->objects_cnt; i++) {
		size_t q = queued[i];
		uint64_t end = q + 1 < s->first_cnt ? s->first[q + 1] : s->edges_cnt;
		g->out_first[i] = g->edges_cnt;
		for (uint64_t e = s->first[q]; e < end; e++)
			g->out[g->edges_cnt++] =
				(struct graph_edge){ s->number[s->edges[e].other] - 1, s->edges[e].word, s->edges[e].inside };
	}
	g->out_first[g->objects_cnt] = g->edges_cnt;
	for (size_t i = 0; i < g->roots_cnt; i++)
		g->roots[i].to = s->number[g->roots[i].to] - 1;
	return 0;
}

static int scan_all(struct scan *s, enum graph_live live)
{
	int rc = live == GRAPH_MARKED ? scan_marked(s) : 0;
	if (!rc && live == GRAPH_REACHED)
		rc = scan_uncollectable(s);
	if (!rc && live == GRAPH_REACHED)
		rc = scan_roots(s);
	for (size_t i = 0; i < s->queue_cnt && !rc; i++) {
		struct reached at = s->queue[i]; /* a copy: the queue is reallocated as it grows */
		rc = scan_object(s, &at, live == GRAPH_MARKED);
	}
	return rc;
}

int graph_scan(struct graph *g, const struct boehm_heap *h, const struct words *w, const struct roots *r, enum graph_live live,
	       const struct graph_typing *typing)
{
	struct scan s = { .g = g, .h = h, .w = w, .r = r };
	uint32_t *queued = NULL;
	*g = (struct graph){ 0 };
	if (h->marks_cnt >= GRAPH_NONE || h->blocks_cnt >= GRAPH_NONE)
		return -EFBIG;
	s.number = calloc(h->marks_cnt + 1, sizeof(*s.number));
	int rc = s.number ? scan_all(&s, live) : -ENOMEM;
	if (!rc)
		rc = number_objects(&s, &queued, typing);
	if (!rc)
		rc = place_edges(&s, queued);
	free(queued);
	free(s.number);
	free(s.queue);
	free(s.first);
	free(s.edges);
	if (!rc && typing)
		rc = typing->settle(typing->ctx, g);
	return rc ? rc : graph_finish(g);
}

static bool sound(const struct graph *g)
{
	for (size_t i = 0; i < g->objects_cnt; i++) {
		const struct graph_object *o = &g->objects[i];
		if (!o->size || o->addr + o->size < o->addr || (i && o->addr < o[-1].addr + o[-1].size))
			return false;
		if (g->out_first[i] > g->out_first[i + 1] || g->out_first[i + 1] > g->edges_cnt)
			return false;
	}
	if (g->out_first[0] || g->out_first[g->objects_cnt] != g->edges_cnt)
		return false;
	for (size_t i = 0; i < g->objects_cnt; i++) {
		for (uint64_t e = g->out_first[i]; e < g->out_first[i + 1]; e++) {
			bool ascends = e == g->out_first[i] || g->out[e].word > g->out[e - 1].word;
			if (g->out[e].other >= g->objects_cnt || g->out[e].word >= g->objects[i].size / 8 || !ascends)
				return false;
		}
	}
	for (size_t i = 0; i < g->roots_cnt; i++) {
		if (g->roots[i].to >= g->objects_cnt)
			return false;
	}
	return true;
}

static int build_in_edges(struct graph *g)
{
	g->in_first = calloc(g->objects_cnt + 2, sizeof(*g->in_first));
	g->in = malloc((g->edges_cnt + 1) * sizeof(*g->in));
	if (!g->in_first || !g->in)
		return -ENOMEM;
	/* Counted two places ahead: filling advances each start by one place, to where it belongs. */
	for (uint64_t e = 0; e < g->edges_cnt; e++) {
		if (g->out[e].other + 2 <= g->objects_cnt)
			g->in_first[g->out[e].other + 2]++;
	}
	for (size_t i = 2; i <= g->objects_cnt; i++)
		g->in_first[i] += g->in_first[i - 1];
	for (size_t i = 0; i < g->objects_cnt; i++) {
		for (uint64_t e = g->out_first[i]; e < g->out_first[i + 1]; e++)
			g->in[g->in_first[g->out[e].other + 1]++] =
				(struct graph_edge){ (uint32_t)i, g->out[e].word, g->out[e].inside };
	}
	return 0;
}

static void find_owners(struct graph *g)
{
	for (size_t i = 0; i < g->objects_cnt; i++) {
		struct graph_object *o = &g->objects[i];
		o->owner = GRAPH_NONE;
		if (o->type)
			continue;
		for (uint64_t e = g->in_first[i]; e < g->in_first[i + 1]; e++) {
			uint32_t holder = g->in[e].other;
			if (!g->objects[holder].type || holder == o->owner)
				continue;
			bool second = o->owner != GRAPH_NONE;
			o->owner = second ? GRAPH_NONE : holder;
			if (second)
				break;
		}
	}
}

int graph_finish(struct graph *g)
{
	if (g->objects_cnt >= GRAPH_NONE || !g->out_first || !g->out || !sound(g))
		return -EBADMSG;
	int rc = build_in_edges(g);
	if (!rc)
		find_owners(g);
	return rc;
}

void graph_free(struct graph *g)
{
	free(g->objects);
	free(g->out_first);
	free(g->in_first);
	free(g->out);
	free(g->in);
	free(g->roots);
	*g = (struct graph){ 0 };
}

uint32_t graph_find(const struct graph *g, uint64_t addr)
{
	size_t lo = SORTED_UNTIL(g->objects_cnt, i, g->objects[i].addr <= addr);
	return lo && addr - g->objects[lo - 1].addr < g->objects[lo - 1].size ? (uint32_t)(lo - 1) : GRAPH_NONE;
}

uint64_t graph_reach(const struct graph *g, const uint32_t *from, size_t from_cnt, uint32_t *marks, uint32_t stamp,
		     uint32_t *stack)
{
	uint64_t sum = 0;
	size_t depth = 0;
	for (size_t i = 0; i < from_cnt; i++) {
		if (marks[from[i]] != stamp)
			stack[depth++] = from[i], marks[from[i]] = stamp;
	}
	while (depth) {
		uint32_t at = stack[--depth];
		sum += g->objects[at].asked ?: g->objects[at].size;
		for (uint64_t e = g->out_first[at]; e < g->out_first[at + 1]; e++) {
			uint32_t to = g->out[e].other;
			if (marks[to] != stamp)
				stack[depth++] = to, marks[to] = stamp;
		}
	}
	return sum;
}

/* Index in `in` of the edge e that leaves `from`. An object's in-edges are sorted by holder and word. */
static uint64_t in_edge(const struct graph *g, uint32_t from, const struct graph_edge *e)
{
	uint64_t lo = g->in_first[e->other], hi = g->in_first[e->other + 1];
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		const struct graph_edge *at = &g->in[mid];
		if (at->other < from || (at->other == from && at->word < e->word))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int graph_ways(const struct graph *g, uint64_t *via)
{
	uint32_t *queue = malloc((g->objects_cnt + 1) * sizeof(*queue));
	size_t tail = 0;
	if (!queue)
		return -ENOMEM;
	memset(via, 0xff, g->objects_cnt * sizeof(*via));
	for (size_t i = 0; i < g->roots_cnt; i++) {
		uint32_t to = g->roots[i].to;
		if (via[to] == GRAPH_NO_WAY)
			via[to] = GRAPH_VIA_ROOT | i, queue[tail++] = to;
	}
	for (size_t head = 0; head < tail; head++) {
		uint32_t at = queue[head];
		for (uint64_t e = g->out_first[at]; e < g->out_first[at + 1]; e++) {
			uint32_t to = g->out[e].other;
			if (via[to] == GRAPH_NO_WAY)
				via[to] = in_edge(g, at, &g->out[e]), queue[tail++] = to;
		}
	}
	free(queue);
	return 0;
}
