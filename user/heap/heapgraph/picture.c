/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/picture: see picture.h. Levels count from the requested objects: an edge to one of them has level 0. Edges
 * are written depth first, as in MemProf's example.
 */
#include "heapgraph/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define GUESSES "conservative: any word that could be an address of a block counts"

enum style { MERMAID, DOT, JSON };

struct step {
	uint32_t at;
	uint64_t next; /* next in-edge to follow */
};

struct drawing {
	const struct picture *p;
	struct buf *out;
	enum style style;
	uint32_t *targets;
	size_t targets_cnt;
	uint32_t *level;  /* GRAPH_NONE: not reached */
	bool *opened;     /* its in-edges were written */
	struct map roots; /* roots that were written -> their numbers */
	size_t written;   /* members written of the current JSON list */
};

bool picture_is_target(const struct picture *p, uint32_t object)
{
	const uint32_t type = p->graph->objects[object].type;
	if (p->object != GRAPH_NONE)
		return p->object == object;
	for (size_t i = 0; i < p->ids_cnt; i++) {
		if (p->ids[i] == type)
			return true;
	}
	return false;
}

void picture_name(const struct picture *p, uint32_t object, bool owner, struct buf *out)
{
	const struct graph_object *o = &p->graph->objects[object];
	if (o->type || !owner || o->owner == GRAPH_NONE) {
		if (o->type)
			types_text(p->types, o->type, out);
		else
			buf_adds(out, "(class 0)");
		return;
	}
	types_text(p->types, p->graph->objects[o->owner].type, out);
	buf_adds(out, " (buffer)");
}

/* The field's name, or "(field 8)" if unknown. */
static void field_name(const struct picture *p, uint32_t holder, uint32_t word, struct buf *out)
{
	const struct type_name *type = types_get(p->types, p->graph->objects[holder].type);
	const struct field_class *c = type && p->fields ? fields_class(p->fields, type->name) : NULL;
	uint64_t within = 0;
	const struct field *f = c ? fields_at(p->fields, c, (uint64_t)word * 8, &within) : NULL;
	if (!f) {
		buf_addf(out, "(field %" PRIu64 ")", (uint64_t)word * 8);
		return;
	}
	text_clean(out, f->name, strlen(f->name));
	if (within)
		buf_addf(out, "+%" PRIu64, within);
}

/* Escapes for double quotes: mermaid uses an entity, dot a backslash. */
static void quoted(struct drawing *d, const char *text)
{
	for (; *text; text++) {
		if (*text == '"')
			buf_adds(d->out, d->style == MERMAID ? "#quot;" : "\\\"");
		else if (*text == '\\' && d->style == DOT)
			buf_adds(d->out, "\\\\");
		else
			buf_u8(d->out, (uint8_t)*text);
	}
}

static void put_node(struct drawing *d, uint32_t object)
{
	const struct graph_object *o = &d->p->graph->objects[object];
	struct buf name = { 0 };
	picture_name(d->p, object, d->style != MERMAID, &name);
	if (d->style == MERMAID)
		buf_addf(d->out, "0x%" PRIx64 "[\"0x%" PRIx64 " ", o->addr, o->addr);
	else if (d->style == DOT)
		buf_addf(d->out, "  \"0x%" PRIx64 "\" [label=\"0x%" PRIx64 " ", o->addr, o->addr);
	else
		buf_addf(d->out, "%s{\"address\":\"0x%" PRIx64 "\",\"type\":", d->written++ ? "," : "", o->addr);
	if (d->style == JSON) {
		text_json(d->out, buf_str(&name));
		buf_addf(d->out, ",\"class\":%u,\"bytes\":%" PRIu64 ",\"kind\":%u,\"target\":%s}", o->type, o->asked ?: o->size,
			 o->kind, picture_is_target(d->p, object) ? "true" : "false");
	} else {
		quoted(d, buf_str(&name));
		buf_adds(d->out, d->style == MERMAID ? "\"]" : "\"];\n");
	}
	buf_free(&name);
}

/* An in-edge. level GRAPH_NONE: part of a path to a root. Edges out of raw memory are guesses. */
static void put_edge(struct drawing *d, const struct graph_edge *e, uint32_t to, uint32_t level)
{
	const struct graph *g = d->p->graph;
	const uint32_t from = e->other;
	const bool guess = d->p->guesses || !g->objects[from].type;
	struct buf field = { 0 };
	field_name(d->p, from, e->word, &field);
	if (d->p->guesses && e->inside && d->style != JSON)
		buf_adds(&field, " inside");
	if (d->style == MERMAID) {
		buf_adds(d->out, "  ");
		put_node(d, from);
		buf_adds(d->out, " --@");
		quoted(d, buf_str(&field));
		if (level != GRAPH_NONE)
			buf_addf(d->out, ",%u", level);
		buf_addf(d->out, "--> 0x%" PRIx64 "\n", g->objects[to].addr);
	} else if (d->style == DOT) {
		if (level == GRAPH_NONE) /* not written yet as one of the reached nodes */
			put_node(d, from);
		buf_addf(d->out, "  \"0x%" PRIx64 "\" -> \"0x%" PRIx64 "\" [label=\"@", g->objects[from].addr,
			 g->objects[to].addr);
		quoted(d, buf_str(&field));
		buf_adds(d->out, guess ? "\", style=dashed];\n" : "\"];\n");
	} else {
		buf_addf(d->out, "%s{\"from\":\"0x%" PRIx64 "\",\"to\":\"0x%" PRIx64 "\",\"field\":", d->written++ ? "," : "",
			 g->objects[from].addr, g->objects[to].addr);
		text_json(d->out, buf_str(&field));
		buf_reset(&field);
		picture_name(d->p, from, true, &field);
		buf_adds(d->out, ",\"holder\":");
		text_json(d->out, buf_str(&field));
		buf_addf(d->out, ",\"offset\":%" PRIu64 ",\"points\":\"%s\"", (uint64_t)e->word * 8,
			 e->inside ? "inside" : "start");
		if (level != GRAPH_NONE)
			buf_addf(d->out, ",\"level\":%u", level);
		buf_addf(d->out, ",\"conservative\":%s}", guess ? "true" : "false");
	}
	buf_free(&field);
}

static bool deeper(const struct picture *p, uint32_t level)
{
	return !p->levels || level < p->levels;
}

/* Finds the requested objects and the distance of every object that leads to them. */
static int measure(struct drawing *d)
{
	const struct graph *g = d->p->graph;
	uint32_t *queue = malloc((g->objects_cnt + 1) * sizeof(*queue));
	d->targets = malloc((g->objects_cnt + 1) * sizeof(*d->targets));
	d->level = malloc((g->objects_cnt + 1) * sizeof(*d->level));
	d->opened = calloc(g->objects_cnt + 1, 1);
	if (!queue || !d->targets || !d->level || !d->opened) {
		free(queue);
		return -ENOMEM;
	}
	size_t tail = 0;
	memset(d->level, 0xff, g->objects_cnt * sizeof(*d->level));
	/* Backwards: the collector allocates the cells of a block downwards, so the oldest object comes first. */
	for (size_t i = g->objects_cnt; i-- && (!d->p->limit || d->targets_cnt < d->p->limit);) {
		if (!picture_is_target(d->p, (uint32_t)i))
			continue;
		d->targets[d->targets_cnt++] = queue[tail++] = (uint32_t)i;
		d->level[i] = 0;
	}
	for (size_t head = 0; head < tail; head++) {
		uint32_t at = queue[head];
		if (!deeper(d->p, d->level[at]))
			continue;
		for (uint64_t e = g->in_first[at]; e < g->in_first[at + 1]; e++) {
			uint32_t from = g->in[e].other;
			if (d->level[from] == GRAPH_NONE)
				d->level[from] = d->level[at] + 1, queue[tail++] = from;
		}
	}
	free(queue);
	return 0;
}

/* Writes every edge to a reached object once, depth first through holders that were not visited. */
static int draw_levels(struct drawing *d)
{
	const struct graph *g = d->p->graph;
	struct step *stack = malloc((g->objects_cnt + 1) * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	for (size_t i = 0; i < d->targets_cnt; i++) {
		size_t depth = 0;
		if (d->opened[d->targets[i]])
			continue;
		stack[depth++] = (struct step){ d->targets[i], g->in_first[d->targets[i]] };
		d->opened[d->targets[i]] = true;
		while (depth) {
			struct step *s = &stack[depth - 1];
			if (s->next == g->in_first[s->at + 1] || !deeper(d->p, d->level[s->at])) {
				depth--;
				continue;
			}
			const struct graph_edge *e = &g->in[s->next++];
			put_edge(d, e, s->at, d->level[s->at]);
			if (!d->opened[e->other] && deeper(d->p, d->level[e->other])) {
				d->opened[e->other] = true;
				stack[depth++] = (struct step){ e->other, g->in_first[e->other] };
			}
		}
	}
	free(stack);
	return 0;
}

static void put_root(struct drawing *d, const struct graph_root *r)
{
	const uint64_t index = (uint64_t)(r - d->p->graph->roots);
	uint64_t *number = map_put(&d->roots, index);
	if (!number || (*number && d->style != JSON)) {
		d->out->failed |= !number;
		return;
	}
	*number = d->roots.count;
	struct buf name = { 0 };
	if (d->p->root_name)
		d->p->root_name(d->p->ctx, r, &name);
	else
		buf_adds(&name, root_kind_name(r->kind));
	const bool guess = d->p->guesses || r->kind == ROOT_STACK || r->kind == ROOT_FIBER || r->kind == ROOT_REGISTERS;
	uint64_t to = d->p->graph->objects[r->to].addr;
	if (d->style == JSON) {
		buf_addf(d->out, "\"root\":{\"kind\":\"%s\",\"thread\":%u,\"address\":\"0x%" PRIx64 "\",\"name\":",
			 root_kind_name(r->kind), r->tid, r->addr);
		text_json(d->out, buf_str(&name));
		buf_addf(d->out, ",\"conservative\":%s}", guess ? "true" : "false");
	} else if (d->style == MERMAID) {
		buf_addf(d->out, "  root%" PRIu64 "([\"", *number);
		quoted(d, buf_str(&name));
		buf_addf(d->out, "\"]) %s 0x%" PRIx64 "\n", guess ? "-.->" : "-->", to);
	} else {
		buf_addf(d->out, "  root%" PRIu64 " [shape=box, label=\"", *number);
		quoted(d, buf_str(&name));
		buf_addf(d->out, "\"];\n  root%" PRIu64 " -> \"0x%" PRIx64 "\"%s;\n", *number, to,
			 guess ? " [style=dashed]" : "");
	}
	buf_free(&name);
}

/* Written starting at the root. `way`: scratch space with room for all objects. */
static void draw_path(struct drawing *d, uint32_t target, const uint64_t *via, uint64_t *way)
{
	const struct graph *g = d->p->graph;
	size_t n = 0;
	uint32_t at = target;
	while (!(via[at] & GRAPH_VIA_ROOT)) {
		way[n++] = via[at];
		at = g->in[via[at]].other;
	}
	uint64_t root = via[at] & ~GRAPH_VIA_ROOT;
	if (d->style == JSON)
		buf_addf(d->out, "%s{\"to\":\"0x%" PRIx64 "\",", d->written++ ? "," : "", g->objects[target].addr);
	put_root(d, &g->roots[root]);
	size_t outer = d->written;
	d->written = 0;
	if (d->style == JSON)
		buf_adds(d->out, ",\"steps\":[");
	while (n--) {
		const struct graph_edge *e = &g->in[way[n]];
		uint32_t to = n ? g->in[way[n - 1]].other : target;
		if (d->style == JSON || !d->opened[to] || !deeper(d->p, d->level[to]))
			put_edge(d, e, to, GRAPH_NONE);
	}
	if (d->style == JSON)
		buf_adds(d->out, "]}");
	d->written = outer;
}

static int draw_ways(struct drawing *d)
{
	const struct graph *g = d->p->graph;
	uint64_t *via = malloc((g->objects_cnt + 1) * sizeof(*via)), *way = malloc((g->objects_cnt + 1) * sizeof(*way));
	int rc = via && way ? graph_ways(g, via) : -ENOMEM;
	for (size_t i = 0; i < d->targets_cnt && !rc; i++) {
		if (via[d->targets[i]] != GRAPH_NO_WAY)
			draw_path(d, d->targets[i], via, way);
	}
	free(via);
	free(way);
	return rc;
}

static void done(struct drawing *d)
{
	free(d->targets);
	free(d->level);
	free(d->opened);
	map_free(&d->roots);
}

static int drawn(struct drawing *d, int rc)
{
	done(d);
	return rc ? rc : d->out->failed ? -ENOMEM : 0;
}

int picture_mermaid(const struct picture *p, struct buf *out)
{
	struct drawing d = { .p = p, .out = out, .style = MERMAID };
	int rc = measure(&d);
	buf_adds(out, "graph LR\n");
	if (p->guesses)
		buf_adds(out, "  %% " GUESSES "\n");
	for (size_t i = 0; i < d.targets_cnt && !rc; i++) {
		buf_adds(out, "  ");
		put_node(&d, d.targets[i]);
		buf_u8(out, '\n');
	}
	if (!rc)
		rc = draw_levels(&d);
	if (!rc && p->paths)
		rc = draw_ways(&d);
	return drawn(&d, rc);
}

static void put_reached(struct drawing *d)
{
	for (size_t i = 0; i < d->p->graph->objects_cnt; i++) {
		if (d->level[i] != GRAPH_NONE)
			put_node(d, (uint32_t)i);
	}
}

int picture_dot(const struct picture *p, struct buf *out)
{
	struct drawing d = { .p = p, .out = out, .style = DOT };
	int rc = measure(&d);
	buf_adds(out, "digraph heap {\n  rankdir=LR;\n");
	if (p->guesses)
		buf_adds(out, "  label=\"" GUESSES "\";\n");
	if (!rc) {
		put_reached(&d);
		rc = draw_levels(&d);
	}
	if (!rc && p->paths)
		rc = draw_ways(&d);
	buf_adds(out, "}\n");
	return drawn(&d, rc);
}

int picture_json(const struct picture *p, struct buf *out)
{
	struct drawing d = { .p = p, .out = out, .style = JSON };
	int rc = measure(&d);
	buf_addf(out, "\"conservative\":%s,\"type\":", p->guesses ? "true" : "false");
	text_json(out, p->type);
	buf_adds(out, ",\"objects\":[");
	if (!rc)
		put_reached(&d);
	buf_adds(out, "],\"edges\":[");
	d.written = 0;
	if (!rc)
		rc = draw_levels(&d);
	buf_adds(out, "],\"paths\":[");
	d.written = 0;
	if (!rc && p->paths)
		rc = draw_ways(&d);
	buf_adds(out, "]");
	return drawn(&d, rc);
}
