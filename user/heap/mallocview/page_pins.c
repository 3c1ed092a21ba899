/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/page_pins: see page_pins.h. */
#include "mallocview/page_pins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "base/vec.h"
#include "heapview/census_verb.h"

#define PAGE_OF(addr) ((addr) & ~(PAGE_BYTES - 1))
#define USED_MAX (CENSUS_PINNED_SHARE * PAGE_BYTES)

/* --- which pages ------------------------------------------------------------------------------------ */

static int add_page(struct page_pins *p, uint64_t addr, uint64_t used)
{
	struct recorded_page *page = VEC_PUSH(p, pages);
	if (page)
		*page = (struct recorded_page){ .addr = addr, .used = (uint32_t)used };
	return page ? 0 : -ENOMEM;
}

/* Pages within a block are full. */
static int take_block(void *ctx, const struct event *e)
{
	struct page_pins *p = ctx;
	uint64_t bytes = e->size ?: 1, end = e->addr + bytes;
	struct recorded_block *b = end > e->addr ? VEC_PUSH(p, blocks) : NULL;
	if (!b)
		return end > e->addr ? -ENOMEM : 0;
	*b = (struct recorded_block){ e->addr, bytes };
	uint64_t first = PAGE_OF(e->addr), last = PAGE_OF(end - 1);
	int rc = add_page(p, first, (last == first ? end : first + PAGE_BYTES) - e->addr);
	return rc || last == first ? rc : add_page(p, last, end - last);
}

static int by_page(const void *a, const void *b)
{
	const struct recorded_page *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int by_block(const void *a, const void *b)
{
	const struct recorded_block *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void join_pages(struct page_pins *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->pages_cnt; i++) {
		if (kept && p->pages[kept - 1].addr == p->pages[i].addr)
			p->pages[kept - 1].used += p->pages[i].used;
		else
			p->pages[kept++] = p->pages[i];
	}
	p->pages_cnt = kept;
}

static void find_held(struct page_pins *p, struct pages *pages)
{
	for (size_t i = 0; i < p->pages_cnt; i++) {
		struct recorded_page *page = &p->pages[i];
		page->held = page->used <= USED_MAX && pages_at(pages, page->addr) == PAGE_RESIDENT;
		p->held += page->held;
		p->held_used += page->held ? page->used : 0;
	}
}

static bool is_held(const struct page_pins *p, uint64_t addr)
{
	uint64_t page = PAGE_OF(addr);
	size_t i = SORTED_UNTIL(p->pages_cnt, k, p->pages[k].addr < page);
	return i < p->pages_cnt && p->pages[i].addr == page && p->pages[i].held;
}

static int take_holding(void *ctx, const struct event *e)
{
	struct page_pins *p = ctx;
	bool holds = is_held(p, e->addr) || is_held(p, e->addr + (e->size ? e->size - 1 : 0));
	return holds ? heap_apply(p->holding, e, NULL) : 0;
}

int page_pins_take(const struct heap *recorded, struct pages *pages, struct page_pins *out)
{
	*out = (struct page_pins){ .holding = heap_new() };
	struct snapshot *all = heap_snapshot(recorded);
	int rc = !all || !out->holding ? -ENOMEM : heap_each_live(recorded, take_block, out);
	if (!rc) {
		out->sampled = all->facts.sampled;
		if (out->pages_cnt)
			qsort(out->pages, out->pages_cnt, sizeof(*out->pages), by_page);
		if (out->blocks_cnt)
			qsort(out->blocks, out->blocks_cnt, sizeof(*out->blocks), by_block);
		join_pages(out);
		find_held(out, pages);
		rc = heap_each_live(recorded, take_holding, out);
	}
	snapshot_free(all);
	if (rc)
		page_pins_free(out);
	return rc;
}

void page_pins_free(struct page_pins *p)
{
	heap_free(p->holding);
	free(p->pages);
	free(p->blocks);
	*p = (struct page_pins){ 0 };
}

uint64_t page_pins_within(const struct page_pins *p, uint64_t start, uint64_t end, uint64_t *bytes)
{
	size_t first = SORTED_UNTIL(p->blocks_cnt, k, p->blocks[k].addr < start), i = first;
	for (*bytes = 0; i < p->blocks_cnt && p->blocks[i].addr < end; i++)
		*bytes += p->blocks[i].bytes;
	return i - first;
}

/* --- what is told ----------------------------------------------------------------------------------- */

static const char *others(const struct page_pins *p)
{
	return p->sampled ? "free, older than the recording, or not sampled" : "free, or older than the recording";
}

void page_pins_facts(const struct page_pins *p, struct buf *out)
{
	buf_addf(out, "\"pinned_pages\":%" PRIu64 ",\"pinned_used_bytes\":%" PRIu64 ",\"pinned_other_is\":\"%s\",", p->held,
		 p->held_used, others(p));
}

int page_pins_write(const struct page_pins *p, const struct recorded_heap *from, const struct report_options *o,
		    struct sink_out *out, struct err *err)
{
	struct buf above = { 0 }, below = { 0 };
	buf_addf(&above, "\nWhose blocks are in %" PRIu64 " resident pages of which they fill at most a tenth:\n\n", p->held);
	buf_addf(&below, "\nwhat else lies in these pages is %s\n", others(p));
	int rc = above.failed || below.failed ? err_set(err, ENOMEM, "out of memory for the report")
					      : pins_write_sites(p->holding, from, o, buf_str(&above), buf_str(&below), out, err);
	buf_free(&above);
	buf_free(&below);
	return rc;
}
