/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the live heap; see model.h. Events come in ring order, which is causal per address because an allocation is
 * sent at its return and a free at its entry. The exception is realloc: it frees the old address during the call, so
 * its event carries the time of its entry.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/vec.h"
#include "model/heap_state.h"

struct heap *heap_new(void)
{
	return calloc(1, sizeof(struct heap));
}

void heap_free(struct heap *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->procs_cnt; i++) {
		map_free(&h->procs[i].live);
		lineage_free(&h->procs[i].line);
	}
	map_free(&h->proc_index);
	map_free(&h->row_index);
	map_free(&h->split_index);
	map_free(&h->split_ids);
	watch_free(&h->watch);
	heapfuls_free(&h->heapfuls);
	free(h->procs);
	free(h->blocks);
	free(h->left);
	free(h->rows);
	free(h->clusters.at);
	free(h->seen);
	free(h);
}

void heap_watch(struct heap *h, unsigned int what)
{
	watch_begin(&h->watch, what);
}

void heap_listen(struct heap *h, const struct heap_listener *l)
{
	h->listener = *l;
}

/* Borrowed; invalid after the next call that adds a process. */
static struct proc_heap *proc_of(struct heap *h, struct proc_id id)
{
	uint64_t *known = map_get(&h->proc_index, id.n);
	if (known)
		return &h->procs[*known];
	struct proc_heap *p = VEC_PUSH(h, procs);
	uint64_t *place = p ? map_put(&h->proc_index, id.n) : NULL;
	if (!place) {
		h->procs_cnt -= p ? 1 : 0;
		return NULL;
	}
	*place = h->procs_cnt - 1;
	return p;
}

static uint64_t *add_row(struct heap *h, const struct event *e, struct map *index, uint64_t key)
{
	struct snapshot_row *r = VEC_PUSH(h, rows);
	if (!r)
		return NULL;
	r->stack = e->stack;
	r->proc = e->proc;
	r->no = ++h->rows_made;
	uint64_t *place = watch_add_row(&h->watch, h->rows_cnt) ? NULL : map_put(index, key);
	if (!place) {
		h->rows_cnt--;
		return NULL;
	}
	*place = h->rows_cnt - 1;
	return place;
}

static uint64_t split_of(const struct heap *h, const struct event *e)
{
	if (h->watch.what & HEAP_BY_ERLANG_PROCESS)
		return e->flags & EVENT_F_HEAPFUL ? e->addr : 0;
	return h->watch.what & HEAP_BY_SIZE ? e->size : e->tid;
}

/* The row of a part of a stack's. `base`, the row of the stack, is used as part of the key only. */
static uint64_t *split_row(struct heap *h, const struct event *e, uint64_t base)
{
	uint64_t split = split_of(h, e);
	uint64_t *number = map_put(&h->split_ids, split);
	if (!number)
		return NULL;
	if (!*number)
		*number = h->split_ids.count;
	uint64_t key = base << 32 | (uint32_t)*number;
	uint64_t *known = map_get(&h->split_index, key);
	if (!known && (known = add_row(h, e, &h->split_index, key)))
		h->rows[*known].split = split;
	return known;
}

static uint64_t row_key(struct proc_id proc, struct stack_id stack)
{
	return (uint64_t)proc.n << 32 | stack.n;
}

static int row_of(struct heap *h, const struct event *e, uint32_t *row)
{
	uint64_t key = row_key(e->proc, e->stack);
	uint64_t *known = map_get(&h->row_index, key);
	if (!known)
		known = add_row(h, e, &h->row_index, key);
	if (known && h->watch.what & HEAP_SPLITS)
		known = split_row(h, e, *known);
	if (!known)
		return -ENOMEM;
	*row = (uint32_t)*known;
	return 0;
}

struct clusters_row *heap_clusters_of(const struct heap *h, size_t row)
{
	return clusters_at(&h->clusters, &h->rows[row]);
}

/* Index of an unused block, or -ENOMEM. */
static ssize_t take_block(struct heap *h)
{
	if (h->free_head) {
		size_t place = h->free_head - 1;
		h->free_head = (size_t)h->blocks[place].id;
		return (ssize_t)place;
	}
	return VEC_PUSH(h, blocks) ? (ssize_t)h->blocks_cnt - 1 : -ENOMEM;
}

void heap_give_block(struct heap *h, size_t place)
{
	h->blocks[place].id = h->free_head;
	h->free_head = place + 1;
}

static struct watched watched_of(const struct heap *h, const struct block *b, const struct event *e)
{
	return (struct watched){
		.row = b->row,
		.of_row = &h->rows[b->row].t,
		.all = &h->all,
		.id = b->id,
		.cnt = b->weight,
		.sz = b->weight * (double)b->size,
		.var = block_variance(b),
		.allocated_ns = b->time_ns,
		.windowed = b->group,
		.event = e,
	};
}

static struct life life_of(const struct block *b, bool temporary)
{
	return (struct life){ b->time_ns, b->size, b->weight, b->tag, temporary };
}

static void report_end(const struct heap *h, const struct block *b, bool temporary, enum life_end how, const struct event *e)
{
	struct life life = life_of(b, temporary);
	if (h->listener.ended)
		h->listener.ended(h->listener.ctx, &life, how, e);
}

static void begin_block(struct heap *h, struct block *b, const struct event *e)
{
	struct watched change = watched_of(h, b, e);
	if (h->watch.what)
		watch_before(&h->watch, &change);
	block_begins(&h->rows[b->row].t, heap_clusters_of(h, b->row), b);
	block_begins(&h->all, NULL, b);
	if (!(e->flags & EVENT_F_CARRIED)) {
		block_allocated(&h->rows[b->row].t, heap_clusters_of(h, b->row), b);
		block_allocated(&h->all, NULL, b);
	}
	if (h->watch.what)
		watch_begun(&h->watch, &change);
	if (h->listener.begun) {
		struct life life = life_of(b, false);
		b->tag = h->listener.begun(h->listener.ctx, &life, e);
	}
}

static void count_heapful(struct heap *h, const struct block *b, const struct event *e)
{
	double bytes = b->weight * (double)b->size, had = heapfuls_add(&h->heapfuls, e, bytes);
	h->rows[b->row].t.placed += (had + bytes) * (had + bytes) - had * had;
	h->facts.heapfuls++;
	h->facts.heapful_cases += bytes > 0 && !had;
}

/* Allocated, and nothing else is known of it. */
static void count_unfollowed(struct heap *h, const struct block *b, const struct event *e)
{
	struct watched change = watched_of(h, b, e);
	block_allocated(&h->rows[b->row].t, heap_clusters_of(h, b->row), b);
	block_allocated(&h->all, NULL, b);
	if (e->flags & EVENT_F_HEAPFUL)
		count_heapful(h, b, e);
	if (h->watch.what & HEAP_TIMELINE) {
		timing_before(&h->watch.timing, &change);
		timing_begun(&h->watch.timing, &change);
	}
}

/* Ends a block; the caller removes its address from the map. */
static void end_block(struct heap *h, size_t place, enum life_end how, const struct event *e)
{
	const struct block *b = &h->blocks[place];
	struct watched change = watched_of(h, b, e);
	change.how = how;
	/* With sampling, a thread's last allocation is unknown, so nothing is counted as temporary. */
	if ((h->watch.what & HEAP_LIFETIMES) && !h->facts.sampled)
		change.temporary = lifetimes_temporary(&h->watch.lifetimes, &change);
	if (h->watch.what)
		watch_before(&h->watch, &change);
	block_ends(&h->rows[b->row].t, heap_clusters_of(h, b->row), b);
	block_ends(&h->all, NULL, b);
	if (h->watch.what)
		watch_ended(&h->watch, &change);
	report_end(h, b, change.temporary, how, e);
	heap_give_block(h, place);
}

static int add_block(struct heap *h, const struct event *e, uint64_t id, double weight)
{
	uint32_t row, group = e->flags & EVENT_F_WINDOW ? h->group : 0;
	struct proc_heap *p = proc_of(h, e->proc);
	if (!p || row_of(h, e, &row) || (group && clusters_keep(&h->clusters, &h->rows[row])))
		return -ENOMEM;
	if (group)
		heap_clusters_of(h, row)->by_cpu = e->flags & EVENT_F_BY_CPU;
	if (e->flags & EVENT_F_UNFOLLOWED) {
		count_unfollowed(
			h,
			&(struct block){ .size = e->size, .weight = weight, .row = row, .group = group, .time_ns = e->time_ns },
			e);
		return 0;
	}
	uint64_t *live = map_get(&p->live, e->addr);
	if (live) {
		h->facts.replaced++;
		end_block(h, (size_t)*live, LIFE_MISSED, e);
	}
	ssize_t place = take_block(h);
	if (place < 0)
		return -ENOMEM;
	if (!live)
		live = map_put(&p->live, e->addr);
	if (!live) {
		heap_give_block(h, (size_t)place);
		return -ENOMEM;
	}
	*live = (uint64_t)place;
	struct block *b = &h->blocks[place];
	*b = (struct block){ .id = id,
			     .size = e->size,
			     .weight = weight,
			     .row = row,
			     .group = group,
			     .time_ns = e->flags & EVENT_F_CARRIED ? e->enter_ns : e->time_ns };
	begin_block(h, b, e);
	return 0;
}

/* Whether the process had a block at the address at that time. */
static bool was_live(const struct heap *h, const struct proc_heap *p, uint64_t addr, uint64_t at)
{
	const uint64_t *live = map_get(&p->live, addr), *freed = map_get(&p->line.freed_log, addr);
	return (live && h->blocks[*live].time_ns <= at) || (freed && *freed > at);
}

/* Whether a block at the address was inherited from a parent and has not been freed by the process. */
static bool is_inherited(const struct heap *h, const struct proc_heap *p, uint64_t addr, uint64_t now)
{
	for (uint64_t at = now; p->line.parent; at = p->line.forked_ns, p = &h->procs[p->line.parent - 1]) {
		const uint64_t *freed = map_get(&p->line.freed_inherited, addr);
		if (freed && *freed <= at)
			return false;
		if (was_live(h, &h->procs[p->line.parent - 1], addr, p->line.forked_ns))
			return true;
	}
	return false;
}

/* Frees an address that is not a block of the process: it was inherited (and stays the parent's), or is unknown. */
static void free_other(struct heap *h, struct proc_heap *p, const struct event *e, uint64_t addr)
{
	/* When sampling, most frees are of unknown blocks. */
	if (e->interval)
		return;
	uint64_t *when = p && is_inherited(h, p, addr, e->time_ns) ? map_put(&p->line.freed_inherited, addr) : NULL;
	++*(when ? &h->facts.inherited_free : &h->facts.unknown_free);
	if (when)
		*when = e->time_ns;
}

/* A parent without recorded blocks has nothing to inherit. */
static int begin_child(struct heap *h, const struct event *e)
{
	const uint64_t *known = map_get(&h->proc_index, (uint32_t)e->old_addr);
	size_t place = known ? (size_t)*known : 0;
	struct proc_heap *child = known ? proc_of(h, e->proc) : NULL;
	if (child && !child->line.parent && child != &h->procs[place])
		lineage_begin(&child->line, place, &h->procs[place].line, e->time_ns);
	return known && !child ? -ENOMEM : 0;
}

/* Frees the block at addr unless it is younger than the call; out receives what it was. */
static void free_older(struct heap *h, const struct event *e, uint64_t addr, uint64_t call_ns, struct applied *out)
{
	uint64_t *known = map_get(&h->proc_index, e->proc.n);
	struct proc_heap *p = known ? &h->procs[*known] : NULL;
	uint64_t *live = p ? map_get(&p->live, addr) : NULL;
	if (!live) {
		free_other(h, p, e, addr);
		return;
	}
	const struct block *b = &h->blocks[*live];
	if (b->time_ns > call_ns) {
		h->facts.stale_free++;
		return;
	}
	*out = (struct applied){ .id = b->id, .prev_addr = addr, .prev_size = b->size, .weight = b->weight };
	lineage_gone(&p->line, addr, b->time_ns, e->time_ns);
	end_block(h, (size_t)*live, e->kind == EVENT_REALLOC && e->addr ? LIFE_MOVED : LIFE_FREED, e);
	map_del(&p->live, addr);
}

static int apply_alloc(struct heap *h, const struct event *e, struct applied *out)
{
	if (!e->addr)
		return 0;
	out->weight = event_weight(e);
	if (!out->id)
		out->id = ++h->last_id;
	return add_block(h, e, out->id, out->weight);
}

static int apply_realloc(struct heap *h, const struct event *e, struct applied *out)
{
	if (e->old_addr)
		free_older(h, e, e->old_addr, e->enter_ns ? e->enter_ns : e->time_ns, out);
	return apply_alloc(h, e, out);
}

static void note_live(const struct heap *h, struct growth *g, size_t place, uint64_t now)
{
	const struct block *b = &h->blocks[place];
	const struct life life = life_of(b, false);
	if (h->watch.what & HEAP_GROWTH)
		growth_note_live(g, b->row, &life, block_variance(b), now);
}

/*
 * A process whose children still run must be kept: lookups for them continue through it to its own parent, as with the
 * intermediate process of a daemon.
 */
static void end_lineage(struct heap *h, struct lineage *line)
{
	line->over = true;
	while (line->over && line->parent && !line->children) {
		struct lineage *parent = &h->procs[line->parent - 1].line;
		lineage_end(line, parent);
		line = parent;
	}
}

/* What remains of a block whose process exited: its part of the totals, and with HEAP_LEFT itself. */
static int leave_block(struct heap *h, size_t place, uint64_t now)
{
	struct left_block *left = h->watch.what & HEAP_LEFT ? VEC_PUSH(h, left) : NULL;
	if (left) {
		*left = (struct left_block){ place, now };
		return 0;
	}
	note_live(h, &h->watch.growth, place, now);
	heap_give_block(h, place);
	return h->watch.what & HEAP_LEFT ? -ENOMEM : 0;
}

/* Closes the heap of a process: after exec its blocks are gone, after exit they count as in use. */
static int close_heap(struct heap *h, const struct event *e)
{
	uint64_t *known = map_get(&h->proc_index, e->proc.n);
	int rc = 0;
	if (!known)
		return 0;
	struct map *live = &h->procs[*known].live;
	struct lineage *line = &h->procs[*known].line;
	h->facts.ended_live += live->count;
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(live, &i));) {
		lineage_gone(line, s->key, h->blocks[s->value].time_ns, e->time_ns);
		if (e->kind == EVENT_EXEC) {
			end_block(h, (size_t)s->value, LIFE_EXEC, e);
			continue;
		}
		report_end(h, &h->blocks[s->value], false, LIFE_EXIT, e);
		rc = leave_block(h, (size_t)s->value, e->time_ns) ?: rc;
	}
	map_free(live);
	end_lineage(h, line);
	return rc;
}

void heap_report_left(const struct heap *h)
{
	for (size_t p = 0; p < h->procs_cnt; p++) {
		const struct map_slot *s;
		for (size_t i = 0; (s = map_next(&h->procs[p].live, &i));)
			report_end(h, &h->blocks[s->value], false, LIFE_LEFT, NULL);
	}
}

static int begin_window(struct heap *h, const struct event *e)
{
	struct proc_heap *p = proc_of(h, e->proc);
	h->group = e->batch <= SPREAD_GROUPS ? e->batch : 0;
	if (p && h->group)
		proc_windows_add(&p->windows[!!(e->flags & EVENT_F_BY_CPU)], e);
	h->unmet |= e->interval != 0;
	if (p && h->watch.what & HEAP_TIMELINE)
		return timing_add_window(&h->watch.timing, e);
	return p ? 0 : -ENOMEM;
}

int heap_note_unmet(struct heap *h, struct proc_id proc, bool by_cpu, double unmet)
{
	struct proc_heap *p = proc_of(h, proc);
	if (!p)
		return -ENOMEM;
	p->windows[by_cpu].unmet = unmet;
	h->unmet |= unmet > 0;
	return 0;
}

int heap_apply(struct heap *h, const struct event *e, struct applied *out)
{
	struct applied own;
	if (!out)
		out = &own;
	*out = (struct applied){ .weight = 1 };
	facts_note(&h->facts, e);
	switch (e->kind) {
	case EVENT_ALLOC: return apply_alloc(h, e, out);
	case EVENT_REALLOC: return apply_realloc(h, e, out);
	case EVENT_FREE: free_older(h, e, e->addr, e->time_ns, out); return 0;
	case EVENT_FORK: return begin_child(h, e);
	case EVENT_EXEC:
	case EVENT_EXIT: return close_heap(h, e);
	case EVENT_LOSS: facts_note_loss(&h->facts, e); return 0;
	case EVENT_WINDOW: return begin_window(h, e);
	default: return 0;
	}
}

const struct totals *heap_totals(const struct heap *h)
{
	return &h->all;
}

struct totals heap_estimate(const struct heap *h)
{
	struct snapshot *s = h->clusters.at_cnt || h->unmet ? heap_snapshot(h) : NULL;
	struct totals t = s ? s->all : h->all;
	for (enum estimate k = 0; s && k < ESTIMATES; k++)
		t.var[k] = snapshot_var(s, s->n, k);
	for (enum estimate k = 0; !s && k < ESTIMATES; k++)
		t.var[k] = totals_var(&h->all, k);
	snapshot_free(s);
	return t;
}

static bool is_idle(const struct heap *h, size_t row)
{
	const struct snapshot_row *r = &h->rows[row];
	return row < h->seen_cnt && r->stack.n && !r->t.live_cnt && h->seen[row] == r->t.alloc_cnt;
}

/* Compacts the rows; `to` receives each row's new index. */
static void remove_rows(struct heap *h, uint32_t *to)
{
	size_t kept = 0;
	for (size_t i = 0; i < h->rows_cnt; i++) {
		uint64_t key = row_key(h->rows[i].proc, h->rows[i].stack);
		if (is_idle(h, i)) {
			map_del(&h->row_index, key);
			continue;
		}
		*map_get(&h->row_index, key) = to[i] = (uint32_t)kept;
		h->rows[kept++] = h->rows[i];
	}
	h->rows_cnt = kept;
	for (size_t p = 0; p < h->procs_cnt; p++) {
		const struct map_slot *s;
		for (size_t i = 0; (s = map_next(&h->procs[p].live, &i));)
			h->blocks[s->value].row = to[h->blocks[s->value].row];
	}
}

static int note_seen(struct heap *h)
{
	h->seen_cnt = 0; /* row indices have changed */
	uint64_t *seen = reallocarray(h->seen, h->rows_cnt + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	h->seen = seen;
	h->seen_cnt = h->rows_cnt;
	for (size_t i = 0; i < h->rows_cnt; i++)
		seen[i] = h->rows[i].t.alloc_cnt;
	return 0;
}

/* Adds an idle row to the row for the rest of its process. */
static int add_to_rest(struct heap *h, size_t row)
{
	uint64_t rest = *map_get(&h->row_index, row_key(h->rows[row].proc, (struct stack_id){ 0 }));
	const struct clusters_row *from = heap_clusters_of(h, row);
	if (from && clusters_keep(&h->clusters, &h->rows[rest]))
		return -ENOMEM;
	totals_add(&h->rows[rest].t, &h->rows[row].t);
	if (from)
		clusters_row_add(heap_clusters_of(h, rest), heap_clusters_of(h, row));
	return 0;
}

long heap_forget_idle(struct heap *h)
{
	size_t before = h->rows_cnt;
	long idle = 0;
	/* At most one more row per process, for its rest. */
	uint32_t *to = h->watch.what ? NULL : calloc(2 * before + 1, sizeof(*to));
	int rc = h->watch.what || to ? 0 : -ENOMEM;
	for (size_t i = 0; to && !rc && i < before; i++) {
		uint32_t rest;
		struct event none = { .proc = h->rows[i].proc };
		if (is_idle(h, i) && !(rc = row_of(h, &none, &rest)))
			idle++;
	}
	for (size_t i = 0; to && !rc && i < before; i++) {
		if (is_idle(h, i))
			rc = add_to_rest(h, i);
	}
	if (to && !rc) {
		remove_rows(h, to);
		clusters_close(&h->clusters, h->rows, h->rows_cnt);
	}
	if (to && !rc)
		rc = note_seen(h);
	free(to);
	return rc ? rc : idle;
}

bool heap_knows(const struct heap *h, struct proc_id proc, struct stack_id stack)
{
	return map_get(&h->row_index, row_key(proc, stack)) != NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

int heap_visit_live(const struct heap *h, int (*fn)(void *ctx, const struct event *e), void *ctx)
{
	const struct map_slot *s;
	int rc = 0;
	for (size_t p = 0; !rc && p < h->procs_cnt; p++) {
		for (size_t i = 0; !rc && (s = map_next(&h->procs[p].live, &i));) {
			const struct block *b = &h->blocks[s->value];
			struct event e = { .kind = EVENT_ALLOC,
					   .proc = h->rows[b->row].proc,
					   .stack = h->rows[b->row].stack,
					   .time_ns = b->time_ns,
					   .addr = s->key,
					   .size = b->size,
					   .interval = sample_interval(b->size, b->weight) };
			rc = fn(ctx, &e);
		}
	}
	return rc;
}

static int gather_event(void *ctx, const struct event *e)
{
	struct event **next = ctx;
	*(*next)++ = *e;
	return 0;
}

int heap_each_live(const struct heap *h, int (*fn)(void *ctx, const struct event *e), void *ctx)
{
	size_t n = 0;
	int rc = 0;
	for (size_t p = 0; p < h->procs_cnt; p++)
		n += h->procs[p].live.count;
	struct event *all = calloc(n + 1, sizeof(*all)), *next = all;
	if (all)
		heap_visit_live(h, gather_event, &next);
	if (all && n)
		qsort(all, n, sizeof(*all), by_time);
	for (size_t i = 0; all && i < n && !rc; i++)
		rc = fn(ctx, &all[i]);
	free(all);
	return all ? rc : -ENOMEM;
}

static int by_stack(const void *a, const void *b, void *ctx)
{
	const struct snapshot_row *rows = ctx, *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];
	if (x->stack.n != y->stack.n)
		return x->stack.n < y->stack.n ? -1 : 1;
	if (x->proc.n != y->proc.n)
		return x->proc.n < y->proc.n ? -1 : 1;
	return (x->split > y->split) - (x->split < y->split);
}

/* Row indices in the order of a snapshot; NULL: out of memory. */
static uint32_t *sorted_rows(const struct heap *h, size_t *n)
{
	uint32_t *order = calloc(h->rows_cnt + 1, sizeof(*order));
	*n = 0;
	for (size_t i = 0; order && i < h->rows_cnt; i++) {
		/* With splits, the row of a whole stack is empty: its parts are counted. */
		if (!(h->watch.what & HEAP_SPLITS) || h->rows[i].t.alloc_cnt || h->rows[i].t.live_cnt)
			order[(*n)++] = (uint32_t)i;
	}
	if (order && *n)
		qsort_r(order, *n, sizeof(*order), by_stack, h->rows);
	return order;
}

static void add_left(const struct heap *h, struct growth *g, uint64_t young_ns)
{
	for (size_t p = 0; p < h->procs_cnt; p++) {
		const struct map_slot *s;
		for (size_t i = 0; (s = map_next(&h->procs[p].live, &i));) {
			if (h->blocks[s->value].time_ns < young_ns)
				note_live(h, g, (size_t)s->value, h->facts.last_ns);
		}
	}
	for (size_t i = 0; i < h->left_cnt; i++) {
		if (h->blocks[h->left[i].place].time_ns < young_ns)
			note_live(h, g, h->left[i].place, h->left[i].exit_ns);
	}
}

/* Ages depend on the current time, so they are counted in a copy, and the heap continues unchanged. */
static int fill_growth(const struct heap *h, struct snapshot *s, const uint32_t *order)
{
	struct growth now;
	if (!(h->watch.what & HEAP_GROWTH))
		return 0;
	if (growth_copy(&h->watch.growth, &now))
		return -ENOMEM;
	add_left(h, &now, s->young_ns);
	for (size_t i = 0; i < h->rows_cnt; i++)
		growth_reach(&now, (uint32_t)i, &h->rows[i].t, h->facts.last_ns);
	int rc = growth_fill(&now, s, order);
	growth_free(&now);
	return rc;
}

/* Of a row without samples of windows it is not known which kind would have met it: the one that met less. */
static int finish_row(const struct heap *h, struct snapshot *s, size_t row)
{
	const uint64_t *proc = map_get(&h->proc_index, s->rows[row].proc.n);
	const struct proc_windows *w = proc ? h->procs[*proc].windows : NULL;
	if (w && s->rows[row].windows) {
		proc_windows_settle(&w[s->clusters[s->rows[row].windows].by_cpu], s, row);
		return 0;
	}
	const struct proc_windows *less = w && w[1].unmet > w[0].unmet ? &w[1] : w;
	return less && less->unmet > 0 ? proc_windows_widen(less, s, row) : 0;
}

/*
 * Turns each row's sums into deviations from what the windows of its process let expect; the total's are the sums of
 * these.
 */
int heap_finish_windows(const struct heap *h, struct snapshot *s)
{
	int rc = 0;
	for (size_t i = 0; !rc && (s->clusters || h->unmet) && i < s->n; i++)
		rc = finish_row(h, s, i);
	clusters_widen_peak(s);
	return rc;
}

static struct snapshot *snapshot_aged(const struct heap *h, uint64_t young_ns)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	size_t n;
	uint32_t *order = sorted_rows(h, &n);
	if (s && order) {
		*s = (struct snapshot){ .n = n, .all = h->all, .facts = h->facts, .young_ns = young_ns };
		s->rows = calloc(n + 1, sizeof(*s->rows));
	}
	for (size_t i = 0; s && s->rows && i < n; i++)
		s->rows[i] = h->rows[order[i]];
	if (s && (!s->rows || clusters_copy(&h->clusters, s) || watch_fill(&h->watch, h->rows, s, order) ||
		  fill_growth(h, s, order) || (young_ns != UINT64_MAX && heap_split_young(h, s, order)))) {
		snapshot_free(s);
		s = NULL;
	}
	free(order);
	return s;
}

struct snapshot *heap_snapshot_raw(const struct heap *h)
{
	return snapshot_aged(h, UINT64_MAX);
}

struct snapshot *heap_snapshot_aged(const struct heap *h, uint64_t young_ns)
{
	struct snapshot *s = snapshot_aged(h, young_ns);
	if (s && heap_finish_windows(h, s)) {
		snapshot_free(s);
		s = NULL;
	}
	return s;
}

struct snapshot *heap_snapshot(const struct heap *h)
{
	return heap_snapshot_aged(h, UINT64_MAX);
}
