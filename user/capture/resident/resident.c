/* SPDX-License-Identifier: Apache-2.0 */
/* resident: see resident.h. */
#include "resident/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "machine/address.h"

#define PAGE_SHIFT 12
#define PAGE_SZ (1ull << PAGE_SHIFT)
#define PROC_SHIFT (ADDRESS_BITS - PAGE_SHIFT)

struct resident_page {
	uint64_t addr, size;
	uint64_t came; /* size when it came, by which it was sampled */
	uint64_t interval;
	uint64_t time_ns;
	struct proc_id proc;
	struct stack_id stack;
};

/* Addresses: places in `pages` change while pages are taken away. */
struct hits {
	uint64_t *at;
	size_t at_cnt, at_cap;
};

static uint64_t key_of(struct proc_id proc, uint64_t addr)
{
	return (uint64_t)proc.n << PROC_SHIFT | addr >> PAGE_SHIFT;
}

static int keep(struct resident *r, const struct resident_page *page)
{
	uint64_t *place = map_put(&r->places, key_of(page->proc, page->addr));
	struct resident_page *to = place ? VEC_PUSH(r, pages) : NULL;
	if (!to)
		return -ENOMEM;
	*to = *page;
	*place = r->pages_cnt - 1;
	if (page->size > r->largest)
		r->largest = page->size;
	return 0;
}

static void drop(struct resident *r, size_t i)
{
	map_del(&r->places, key_of(r->pages[i].proc, r->pages[i].addr));
	struct resident_page *last = &r->pages[--r->pages_cnt];
	if (i == r->pages_cnt)
		return;
	r->pages[i] = *last;
	*map_get(&r->places, key_of(last->proc, last->addr)) = i;
}

static void emit_gone(const struct resident *r, const struct resident_page *page, const struct resident_range *why)
{
	const struct event e = {
		.kind = EVENT_FREE,
		.proc = page->proc,
		.tid = why->tid,
		.time_ns = why->time_ns,
		.addr = page->addr,
		.interval = page->interval,
	};
	r->event(r->ctx, &e);
}

/* No touch: it was resident before, in part or elsewhere. */
static void emit_left(const struct resident *r, const struct resident_page *page, uint64_t time_ns)
{
	const struct event e = {
		.kind = EVENT_ALLOC,
		.flags = EVENT_F_CARRIED,
		.proc = page->proc,
		.stack = page->stack,
		.time_ns = time_ns,
		.enter_ns = page->time_ns,
		.addr = page->addr,
		.size = page->size,
		.interval = page->interval,
		.span = (uint32_t)page->came,
	};
	r->event(r->ctx, &e);
}

static uint64_t *find(const struct resident *r, struct proc_id proc, uint64_t addr)
{
	return map_get(&r->places, key_of(proc, addr));
}

static int take_between(const struct resident *r, struct proc_id proc, uint64_t from, uint64_t end, struct hits *out)
{
	for (size_t i = 0; i < r->pages_cnt; i++) {
		const struct resident_page *p = &r->pages[i];
		if (p->proc.n != proc.n || p->addr < from || p->addr >= end)
			continue;
		uint64_t *at = VEC_PUSH(out, at);
		if (!at)
			return -ENOMEM;
		*at = p->addr;
	}
	return 0;
}

/* What lies in the range or begins so little before it that it may reach into it. */
static int take_near(struct resident *r, const struct resident_range *g, struct hits *out)
{
	uint64_t before = r->largest > PAGE_SZ ? r->largest - PAGE_SZ : 0;
	uint64_t from = g->start > before ? g->start - before : 0;
	if ((g->end - from) >> PAGE_SHIFT > r->pages_cnt)
		return take_between(r, g->proc, from, g->end, out);
	for (uint64_t addr = from; addr < g->end; addr += PAGE_SZ) {
		uint64_t *at = find(r, g->proc, addr) ? VEC_PUSH(out, at) : NULL;
		if (at)
			*at = addr;
		else if (find(r, g->proc, addr))
			return -ENOMEM;
	}
	return 0;
}

static int keep_part(struct resident *r, struct resident_page page, uint64_t start, uint64_t end, uint64_t time_ns)
{
	if (start >= end)
		return 0;
	page.addr = start;
	page.size = end - start;
	emit_left(r, &page, time_ns);
	return keep(r, &page);
}

/* One that is there already has left unheard. */
static int replace(struct resident *r, const struct resident_page *page)
{
	const uint64_t *there = find(r, page->proc, page->addr);
	if (there)
		drop(r, *there);
	return keep(r, page);
}

int resident_come(struct resident *r, const struct event *alloc)
{
	const struct resident_page page = {
		.addr = alloc->addr,
		.size = alloc->size,
		.came = alloc->size,
		.interval = alloc->interval,
		.time_ns = alloc->time_ns,
		.proc = alloc->proc,
		.stack = alloc->stack,
	};
	return replace(r, &page);
}

/* `by`: how far what was taken away lies elsewhere now; 0: it is gone. */
static int cut(struct resident *r, size_t i, const struct resident_range *g, uint64_t by)
{
	struct resident_page page = r->pages[i];
	uint64_t end = page.addr + page.size, lo = page.addr > g->start ? page.addr : g->start, hi = end < g->end ? end : g->end;
	if (lo >= hi)
		return 0;
	emit_gone(r, &page, g);
	drop(r, i);
	int rc = keep_part(r, page, page.addr, lo, g->time_ns);
	rc = rc ? rc : keep_part(r, page, hi, end, g->time_ns);
	if (rc || !by)
		return rc;
	page.addr = lo + by;
	page.size = hi - lo;
	emit_left(r, &page, g->time_ns);
	return replace(r, &page);
}

static int cut_all(struct resident *r, const struct resident_range *g, uint64_t by)
{
	struct hits hits = { 0 };
	int rc = g->start < g->end ? take_near(r, g, &hits) : 0;
	for (size_t i = 0; i < hits.at_cnt && !rc; i++) {
		const uint64_t *at = find(r, g->proc, hits.at[i]);
		rc = at ? cut(r, *at, g, by) : 0;
	}
	free(hits.at);
	return rc;
}

int resident_gone(struct resident *r, const struct resident_range *gone)
{
	return cut_all(r, gone, 0);
}

int resident_moved(struct resident *r, const struct resident_range *from, uint64_t to)
{
	return cut_all(r, from, to - from->start);
}

void resident_forget(struct resident *r, struct proc_id proc)
{
	for (size_t i = r->pages_cnt; i-- > 0;) {
		if (r->pages[i].proc.n == proc.n)
			drop(r, i);
	}
}

#define ASKED_MAX 512 /* pages at once */

/* How many of them had gone; 0, too, if nothing is known. */
static size_t drop_gone(struct resident *r, const struct resident_range *why, const uint64_t *at, size_t n,
			resident_ask *are_there, void *ctx)
{
	uint8_t there[ASKED_MAX];
	size_t had = r->pages_cnt;
	if (are_there(ctx, at, n, there))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t *place = there[i] ? NULL : find(r, why->proc, at[i]);
		if (!place)
			continue;
		emit_gone(r, &r->pages[*place], why);
		drop(r, *place);
	}
	return had - r->pages_cnt;
}

int resident_sweep(struct resident *r, struct proc_id proc, uint64_t now_ns, resident_ask *are_there, void *ctx)
{
	const size_t had = r->pages_cnt;
	const struct resident_range why = { .proc = proc, .time_ns = now_ns };
	struct hits all = { 0 };
	int rc = take_between(r, proc, 0, UINT64_MAX, &all);
	for (size_t i = 0; i < all.at_cnt && !rc; i += ASKED_MAX)
		drop_gone(r, &why, all.at + i, all.at_cnt - i < ASKED_MAX ? all.at_cnt - i : ASKED_MAX, are_there, ctx);
	r->swept += had - r->pages_cnt;
	free(all.at);
	return rc;
}

/* One that begins below the heap's new end and reached beyond it. */
static int cut_across(struct resident *r, const struct resident_range *g)
{
	struct resident_range next = *g;
	next.end = g->start + PAGE_SZ;
	struct hits near = { 0 };
	int rc = take_near(r, &next, &near);
	for (size_t i = 0; i < near.at_cnt && !rc; i++) {
		const uint64_t *place = near.at[i] < g->start ? find(r, g->proc, near.at[i]) : NULL;
		next.end = place ? near.at[i] + r->pages[*place].size : 0;
		rc = place ? cut(r, *place, &next, 0) : 0;
	}
	free(near.at);
	return rc;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The lowest pages of a process from an address on, in order, `most` at most: how many. */
static size_t lowest(const struct resident *r, struct proc_id proc, uint64_t from, uint64_t *out, size_t most)
{
	uint64_t found[2 * ASKED_MAX], below = UINT64_MAX;
	size_t n = 0;
	for (size_t i = 0; i < r->pages_cnt; i++) {
		const struct resident_page *p = &r->pages[i];
		if (p->addr < from || p->addr >= below || p->proc.n != proc.n)
			continue;
		found[n++] = p->addr;
		if (n < 2 * most)
			continue;
		qsort(found, n, sizeof(*found), by_address);
		n = most;
		below = found[n - 1];
	}
	qsort(found, n, sizeof(*found), by_address);
	n = n < most ? n : most;
	memcpy(out, found, n * sizeof(*out));
	return n;
}

#define ASKED_FIRST 16

/* Upwards, until none of a step has gone: a heap may shrink often, and all that is mapped lies above it. */
int resident_shrunk(struct resident *r, const struct resident_range *g, resident_ask *are_there, void *ctx)
{
	uint64_t at[ASKED_MAX], from = g->start;
	size_t most = ASKED_FIRST, n = lowest(r, g->proc, from, at, most);
	uint8_t first = 1;
	while (n && drop_gone(r, g, at, n, are_there, ctx) && n == most) {
		from = at[n - 1] + PAGE_SZ;
		most = most < ASKED_MAX ? 2 * most : most;
		n = lowest(r, g->proc, from, at, most);
	}
	if (are_there(ctx, &g->start, 1, &first) || first)
		return 0;
	return cut_across(r, g);
}

void resident_free(struct resident *r)
{
	map_free(&r->places);
	free(r->pages);
}
