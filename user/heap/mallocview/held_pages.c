/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/held_pages: see held_pages.h. */
#include "mallocview/held_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "heapview/census_verb.h"

#define PAGE_OF(addr) ((addr) & ~(PAGE_BYTES - 1))
#define USED_MAX (CENSUS_PINNED_SHARE * PAGE_BYTES)

struct sweep {
	struct held_pages *out;
	struct pages *pages;
	uint64_t page;
	uint64_t used;   /* of it */
	uint64_t blocks; /* that were met in it */
};

/* Nothing of the page comes any more. */
static int leave_page(struct sweep *s)
{
	bool held = s->blocks && (double)s->used <= USED_MAX && pages_at(s->pages, s->page) == PAGE_RESIDENT;
	struct held_page *page = held ? VEC_PUSH(s->out, all) : NULL;
	if (page) {
		*page = (struct held_page){ .addr = s->page, .used = (uint32_t)s->used };
		s->out->used += s->used;
	}
	return held && !page ? -ENOMEM : 0;
}

static void enter_page(struct sweep *s, uint64_t page)
{
	s->page = page;
	s->used = s->blocks = 0;
}

/* Pages within a block are full: only its first and its last one may be held. */
static int add_block(struct sweep *s, const struct glibc_chunk *c)
{
	uint64_t end = c->addr + c->size, first = PAGE_OF(c->addr), last = PAGE_OF(end - 1);
	int rc = first != s->page ? leave_page(s) : 0;
	if (first != s->page)
		enter_page(s, first);
	s->used += (last == first ? end : first + PAGE_BYTES) - c->addr;
	s->blocks++;
	if (last == first || rc)
		return rc;
	rc = leave_page(s);
	enter_page(s, last);
	s->used = end - last;
	s->blocks = 1;
	return rc;
}

/* What lies before an arena's first chunk is malloc's own, and in use. */
static int sweep_piece(struct sweep *s, const struct glibc_heap *h, const struct glibc_piece *p)
{
	int rc = 0;
	enter_page(s, PAGE_OF(p->start));
	s->used = p->start - s->page;
	for (size_t i = p->first; i < p->first + p->cnt && !rc; i++) {
		if (h->chunks[i].state == CHUNK_USED)
			rc = add_block(s, &h->chunks[i]);
	}
	return rc ?: leave_page(s);
}

static void count_blocks(const struct glibc_heap *h, struct held_pages *out)
{
	struct held_page *part[2];
	for (size_t i = 0; i < h->chunks_cnt; i++) {
		const struct glibc_chunk *c = &h->chunks[i];
		if (c->state != CHUNK_USED || !held_pages_of(out, c, part))
			continue;
		out->blocks++;
		out->block_bytes += glibc_usable(c);
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct held_page *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

int held_pages_take(const struct glibc_heap *h, struct pages *pages, struct held_pages *out)
{
	struct sweep s = { .out = out, .pages = pages };
	int rc = 0;
	*out = (struct held_pages){ 0 };
	for (size_t i = 0; i < h->pieces_cnt && !rc; i++)
		rc = sweep_piece(&s, h, &h->pieces[i]);
	if (rc) {
		held_pages_free(out);
		return rc;
	}
	if (out->all_cnt)
		qsort(out->all, out->all_cnt, sizeof(*out->all), by_addr);
	count_blocks(h, out);
	return 0;
}

void held_pages_free(struct held_pages *p)
{
	free(p->all);
	*p = (struct held_pages){ 0 };
}

static struct held_page *page_at(const struct held_pages *p, uint64_t addr)
{
	const struct held_page key = { .addr = PAGE_OF(addr) };
	return p->all_cnt ? bsearch(&key, p->all, p->all_cnt, sizeof(key), by_addr) : NULL;
}

bool held_pages_of(const struct held_pages *p, const struct glibc_chunk *c, struct held_page *part[2])
{
	uint64_t last = c->addr + c->size - 1;
	part[0] = page_at(p, c->addr);
	part[1] = PAGE_OF(last) != PAGE_OF(c->addr) ? page_at(p, last) : NULL;
	return part[0] || part[1];
}
