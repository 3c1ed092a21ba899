/* SPDX-License-Identifier: Apache-2.0 */
/* marking/roots: see roots.h. */
#include "marking/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sorted.h"
#include "base/vec.h"

#define PAGE 4096ull
#define RED_ZONE 128 /* bytes below the stack pointer that a function may use (x86-64 ABI) */
#define STACK_MIN (16u << 10)
#define STACK_MAX (256u << 20)
#define PART_MAX (1u << 20)
#define NAMED_MAX 8  /* stacks that one object may refer to */
#define WHOLE_MAX 64 /* stacks of unknown owner that are scanned whole */

const char *root_kind_name(enum root_kind kind)
{
	static const char *const names[ROOT_KIND_CNT] = {
		[ROOT_GLOBAL] = "global",
		[ROOT_STACK] = "stack",
		[ROOT_FIBER] = "fiber stack",
		[ROOT_REGISTERS] = "registers",
		[ROOT_UNCOLLECTABLE] = "uncollectable",
		[ROOT_ANONYMOUS] = "anonymous memory",
	};
	return kind < ROOT_KIND_CNT ? names[kind] : "?";
}

static int add(struct roots *r, const struct root_range *range)
{
	struct root_range *to = VEC_PUSH(r, ranges);
	if (!to)
		return -ENOMEM;
	*to = *range;
	return 0;
}

/* Mappings of a program or library; other mapped files hold no roots. */
static bool is_program(const struct space *s, const struct space_region *r)
{
	for (size_t i = 0; r->path[0] == '/' && i < s->regions_cnt; i++) {
		if (s->regions[i].exec && s->regions[i].ino == r->ino && s->regions[i].dev == r->dev)
			return true;
	}
	return false;
}

/* Adds the parts of the range that are not excluded. */
static int add_data(struct roots *r, const struct root_plan *plan, uint64_t start, uint64_t end)
{
	int rc = 0;
	for (size_t i = 0; i < plan->excludes_cnt && !rc; i++) {
		const struct root_exclude *x = &plan->excludes[i];
		if (x->end <= start || x->start >= end)
			continue;
		if (x->start > start)
			rc = add_data(r, plan, start, x->start & ~7ull);
		start = x->end < end ? (x->end + 7) & ~7ull : end;
	}
	return rc || start >= end ? rc : add(r, &(struct root_range){ .kind = ROOT_GLOBAL, .start = start, .end = end });
}

/* Anonymous, with an inaccessible guard page in front: that is how stacks of threads and fibers are mapped. */
static bool likely_stack(const struct space *s, size_t i)
{
	const struct space_region *g = &s->regions[i], *guard = i ? g - 1 : NULL;
	uint64_t n = g->end - g->start;
	return g->writable && g->readable && !*g->path && n >= STACK_MIN && n <= STACK_MAX && guard && guard->end == g->start &&
	       !guard->readable && !guard->writable && !*guard->path;
}

static const struct root_thread *thread_in(const struct root_plan *plan, const struct space_region *g)
{
	for (size_t i = 0; i < plan->threads_cnt; i++) {
		if (plan->threads[i].sp >= g->start && plan->threads[i].sp < g->end)
			return &plan->threads[i];
	}
	return NULL;
}

static int add_anonymous(struct roots *r, uint64_t start, uint64_t end, uint64_t *total)
{
	uint64_t n = start < end ? end - start : 0;
	if (!n)
		return 0;
	if (n > ROOT_ANONYMOUS_MAX || *total + n > ROOT_ANONYMOUS_TOTAL) {
		r->unsearched += n;
		return 0;
	}
	*total += n;
	return add(r, &(struct root_range){ .kind = ROOT_ANONYMOUS, .start = start, .end = end });
}

/* What of a mapping is not the heap's. */
static int add_beside_heap(struct roots *r, const struct root_plan *plan, const struct space_region *g, uint64_t *total)
{
	uint64_t at = g->start;
	size_t i = SORTED_UNTIL(plan->heap_cnt, k, plan->heap[k].end <= g->start);
	int rc = 0;
	for (; i < plan->heap_cnt && plan->heap[i].start < g->end && !rc; i++) {
		rc = add_anonymous(r, at, plan->heap[i].start, total);
		at = plan->heap[i].end;
	}
	return rc ?: add_anonymous(r, at, g->end, total);
}

/* Anonymous memory that is no stack: of a thread, or of one that has ended. */
static int plan_anonymous(struct roots *r, const struct root_plan *plan, size_t region, uint64_t *total)
{
	const struct space_region *g = &plan->space->regions[region];
	bool memory = plan->heap && g->readable && g->writable && !g->ino && (!*g->path || !strcmp(g->path, "[heap]"));
	if (!memory || thread_in(plan, g) || likely_stack(plan->space, region))
		return 0;
	return add_beside_heap(r, plan, g, total);
}

/* A file's variables: its writable mapping, and the anonymous one behind it (.bss). Beside a heap also other memory. */
static int plan_globals(struct roots *r, const struct root_plan *plan)
{
	const struct space_region *files = NULL, *last = NULL;
	uint64_t anonymous = 0;
	int rc = 0;
	for (size_t i = 0; i < plan->space->regions_cnt && !rc; i++) {
		const struct space_region *g = &plan->space->regions[i];
		bool bss = !*g->path && files && last && last->end == g->start && last->writable;
		bool file = is_program(plan->space, g);
		if (file)
			files = g;
		else if (!bss)
			files = NULL;
		if ((file || bss) && g->writable && g->readable)
			rc = add_data(r, plan, g->start, g->end);
		else
			rc = plan_anonymous(r, plan, i, &anonymous);
		last = g;
	}
	return rc;
}

/* Above the frames of the main thread are arguments and environment, which hold no references to objects. */
static uint64_t stack_end(const struct root_plan *plan, const struct space_region *g)
{
	for (size_t i = 0; i < plan->threads_cnt; i++) {
		if (plan->threads[i].bottom > g->start && plan->threads[i].bottom < g->end)
			return plan->threads[i].bottom & ~7ull;
	}
	return g->end & ~7ull;
}

static int plan_stacks(struct roots *r, const struct root_plan *plan, bool waiting)
{
	int rc = 0;
	for (size_t i = 0; i < plan->space->regions_cnt && !rc; i++) {
		const struct space_region *g = &plan->space->regions[i];
		const struct root_thread *t = thread_in(plan, g);
		bool main_stack = !strcmp(g->path, "[stack]");
		struct root_range range = { .kind = ROOT_STACK, .start = g->start, .end = stack_end(plan, g) };
		if (t ? t->marker : !main_stack && !likely_stack(plan->space, i))
			continue;
		range.waits = !t;
		if (range.waits && !main_stack)
			range.kind = ROOT_FIBER;
		if (t) {
			range.tid = t->tid;
			range.start = t->sp - g->start > RED_ZONE ? (t->sp - RED_ZONE) & ~7ull : g->start;
			range.start = range.start < range.end ? range.start : range.end;
		}
		if (range.waits == waiting)
			rc = add(r, &range);
	}
	return rc;
}

static int plan_registers(struct roots *r, const struct root_plan *plan)
{
	int rc = 0;
	for (size_t i = 0; i < plan->threads_cnt; i++)
		r->unknown_stacks += !plan->threads[i].sp && !plan->threads[i].marker;
	for (size_t i = 0; i < plan->threads_cnt && !rc; i++) {
		const struct root_thread *t = &plan->threads[i];
		if (t->registers_cnt && !t->marker)
			rc = add(r, &(struct root_range){ .kind = ROOT_REGISTERS, .tid = t->tid, .end = t->registers_cnt * 8 });
	}
	return rc;
}

static void place_registers(struct roots *r, const struct root_plan *plan)
{
	size_t at = 0;
	for (size_t i = 0; i < plan->threads_cnt; i++) {
		const struct root_thread *t = &plan->threads[i];
		if (t->registers_cnt && !t->marker)
			memcpy(r->bytes + r->ranges[at++].at, t->registers, t->registers_cnt * 8);
	}
}

int roots_begin(struct roots *r, const struct root_plan *plan)
{
	*r = (struct roots){ 0 };
	int rc = plan_registers(r, plan);
	if (!rc)
		rc = plan_globals(r, plan);
	if (!rc)
		rc = plan_stacks(r, plan, false);
	r->waiting = r->ranges_cnt;
	return rc ? rc : plan_stacks(r, plan, true);
}

static struct root_range *waiting_at(const struct roots *r, uint64_t addr)
{
	/* Ranges may be empty, where the heap was cut out. */
	struct root_range *all = r->ranges + r->waiting;
	size_t n = r->ranges_cnt - r->waiting, at = SORTED_UNTIL(n, i, all[i].end < addr);
	/* Inclusive end: it is the bottom of an empty stack. */
	return at < n && addr >= all[at].start ? &all[at] : NULL;
}

/* Stacks may be adjacent: one ends where the guard page of the next begins, so an owner's words may match both. */
const struct root_range *roots_owned(const struct roots *r, const uint64_t *words, size_t n, uint64_t *top, uint64_t *bottom)
{
	struct {
		const struct root_range *range;
		uint64_t top, bottom;
	} seen[NAMED_MAX];
	size_t cnt = 0;
	uint64_t low = r->waiting < r->ranges_cnt ? r->ranges[r->waiting].start : UINT64_MAX;
	uint64_t high = r->waiting < r->ranges_cnt ? r->ranges[r->ranges_cnt - 1].end : 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t v = words[i];
		const struct root_range *g = v < low || v > high || v & 7 ? NULL : waiting_at(r, v);
		size_t k = 0;
		while (g && k < cnt && seen[k].range != g)
			k++;
		if (!g || k == NAMED_MAX)
			continue;
		if (k == cnt) {
			seen[cnt].range = g;
			seen[cnt].top = seen[cnt].bottom = v;
			cnt++;
		}
		seen[k].top = v < seen[k].top ? v : seen[k].top;
		seen[k].bottom = v > seen[k].bottom ? v : seen[k].bottom;
	}
	for (size_t k = 0; k < cnt; k++) {
		if (seen[k].top < seen[k].bottom) {
			*top = seen[k].top;
			*bottom = seen[k].bottom;
			return seen[k].range;
		}
	}
	return NULL;
}

/* Tops named by all owners, dead ones included: which of them are alive is not known yet. */
static int find_tops(const struct roots *r, const struct words *w, const struct boehm_heap *h, uint64_t *tops)
{
	for (size_t b = 0; b < h->blocks_cnt; b++) {
		size_t n;
		for (uint32_t k = 0; k < h->blocks[b].objects; k++) {
			uint64_t top, bottom;
			const uint64_t *words = words_of(w, h, b, k, &n);
			const struct root_range *g = words ? roots_owned(r, words, n, &top, &bottom) : NULL;
			size_t i = g ? (size_t)(g - r->ranges) - r->waiting : 0;
			if (g && top < tops[i])
				tops[i] = top;
		}
	}
	return 0;
}

static uint64_t first_block(const struct boehm_heap *h, uint64_t from, uint64_t to)
{
	size_t lo = SORTED_UNTIL(h->blocks_cnt, i, h->blocks[i].addr < from);
	return lo < h->blocks_cnt && h->blocks[lo].addr < to ? h->blocks[lo].addr : to;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The kernel merges adjacent mappings of the same kind: the heap itself may begin behind a stack. */
static int cut_heap(struct roots *r, const struct root_plan *plan, const struct boehm_heap *h)
{
	uint64_t *gaps = malloc((h->gaps_cnt + 1) * sizeof(*gaps));
	if (!gaps)
		return -ENOMEM;
	for (size_t i = 0; i < h->gaps_cnt; i++)
		gaps[i] = h->gaps[i].addr;
	qsort(gaps, h->gaps_cnt, sizeof(*gaps), by_number);
	for (size_t i = 0; i < r->ranges_cnt; i++) {
		struct root_range *g = &r->ranges[i];
		if (g->kind == ROOT_REGISTERS)
			continue;
		size_t lo = SORTED_UNTIL(h->gaps_cnt, k, gaps[k] < g->start);
		g->end = first_block(h, g->start, g->end);
		if (lo < h->gaps_cnt && gaps[lo] < g->end)
			g->end = gaps[lo];
		lo = SORTED_UNTIL(plan->heap_cnt, k, plan->heap[k].end <= g->start);
		if (lo < plan->heap_cnt && plan->heap[lo].start < g->end)
			g->end = plan->heap[lo].start > g->start ? plan->heap[lo].start : g->start;
	}
	free(gaps);
	return 0;
}

static int narrow(struct roots *r, const struct words *w, const struct boehm_heap *h)
{
	size_t n = r->ranges_cnt - r->waiting, kept = r->waiting;
	uint32_t whole = 0;
	uint64_t *tops = malloc((n + 1) * sizeof(*tops));
	if (!tops)
		return -ENOMEM;
	memset(tops, 0xff, (n + 1) * sizeof(*tops));
	find_tops(r, w, h, tops);
	for (size_t i = 0; i < n; i++) {
		struct root_range g = r->ranges[r->waiting + i];
		/* The main thread's stack has no end that owners written in other languages would name. */
		bool owned = tops[i] != UINT64_MAX, first = g.kind == ROOT_STACK;
		bool unknown = first ? !owned || r->unknown_stacks : !owned && r->unknown_stacks && whole < WHOLE_MAX;
		if (!owned && !unknown) {
			r->idle_stacks++;
			continue;
		}
		whole += unknown;
		g.start = unknown ? g.start : tops[i];
		g.waits = !unknown;
		g.kind = unknown ? ROOT_STACK : ROOT_FIBER;
		r->ranges[kept++] = g;
	}
	r->ranges_cnt = kept;
	free(tops);
	return 0;
}

static int room(struct roots *r, const struct root_plan *plan)
{
	for (size_t i = 0; i < r->ranges_cnt; i++) {
		r->ranges[i].at = r->bytes_cnt;
		r->bytes_cnt += r->ranges[i].end - r->ranges[i].start;
		if (r->bytes_cnt > plan->max)
			return -EFBIG;
	}
	if (!r->bytes_cnt)
		return 0;
	/* Pages are not touched beforehand: most of a stack is never used. */
	r->bytes = mmap(NULL, r->bytes_cnt, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->bytes == MAP_FAILED)
		r->bytes = NULL;
	return r->bytes ? 0 : -ENOMEM;
}

/* Falls back to single pages where a part cannot be read: the stack shrank, or a page was protected. */
static int copy_range(struct roots *r, struct memory *m, const struct root_range *g, uint64_t deadline_ns)
{
	for (uint64_t at = g->start; at < g->end;) {
		uint64_t n = g->end - at < PART_MAX ? g->end - at : PART_MAX;
		struct rights_range part = { at, n };
		size_t gone = 0;
		int rc = words_late(deadline_ns) ? -ETIMEDOUT
						 : memory_read_ranges(m, &part, 1, r->bytes + g->at + (at - g->start), &gone);
		for (uint64_t p = at; !rc && gone && p < at + n;) {
			uint64_t next = (p & ~(PAGE - 1)) + PAGE;
			part = (struct rights_range){ p, (next < at + n ? next : at + n) - p };
			rc = memory_read_ranges(m, &part, 1, r->bytes + g->at + (p - g->start), &gone);
			r->unreadable += gone;
			gone = 1;
			p += part.n;
		}
		if (rc)
			return rc;
		at += n;
	}
	return 0;
}

int roots_copy(struct roots *r, struct memory *m, const struct root_plan *plan, const struct words *w, const struct boehm_heap *h,
	       uint64_t deadline_ns)
{
	int rc = cut_heap(r, plan, h);
	if (!rc && r->waiting < r->ranges_cnt)
		rc = narrow(r, w, h);
	if (!rc)
		rc = room(r, plan);
	if (!rc && r->bytes)
		place_registers(r, plan);
	for (size_t i = 0; i < r->ranges_cnt && !rc; i++) {
		if (r->ranges[i].kind != ROOT_REGISTERS)
			rc = copy_range(r, m, &r->ranges[i], deadline_ns);
	}
	return rc;
}

void roots_free(struct roots *r)
{
	if (r->bytes)
		munmap(r->bytes, r->bytes_cnt);
	free(r->ranges);
	*r = (struct roots){ 0 };
}
