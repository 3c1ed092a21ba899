/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/heap: see heap.h. */
#include "boehm/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "boehm/block_header.h"
#include "machine/address.h"

#define TIMEOUT_NS 2000000000ull /* how long to wait for a moment without a collection */
#define PAUSE_NS 200000
#define RECHECKED 1024 /* blocks whose headers are read a second time */
#define PAGES_SPREAD 8 /* the heap is looked up in a direct table of pages if it fills an eighth of its span */
#define PAGES_MIN (1u << 20)
#define PAGES_MAX (1u << 24) /* a corrupt header may claim any size: limits the table to 64 MiB */

static bool is_collected(uint8_t kind)
{
	return kind != HEAP_UNCOLLECTABLE && kind != HEAP_ATOMIC_UNCOLLECTABLE;
}

void boehm_heap_free(struct boehm_heap *h)
{
	free(h->blocks);
	free(h->marks);
	free(h->gaps);
	free(h->pages);
	free(h->asked);
	*h = (struct boehm_heap){ 0 };
}

/* --- one reading -------------------------------------------------------------------------------- */

struct reading {
	struct memory *m;
	const struct layout *l;
	struct boehm_heap *h;
	uint64_t end;  /* end of the last block or gap: the next one must begin behind it */
	bool clearing; /* a block lacked the sentinel mark, which all blocks have: marks are being cleared */
};

/* Room for the marks of one more block; the capacity doubles, so that adding blocks to a large heap stays cheap. */
static uint8_t *marks_room(struct boehm_heap *h, size_t more)
{
	if (h->marks_cap - h->marks_cnt < more) {
		size_t cap = h->marks_cap * 2 + more + BOEHM_BLOCK;
		uint8_t *grown = realloc(h->marks, cap);
		if (!grown)
			return NULL;
		h->marks = grown;
		h->marks_cap = cap;
	}
	h->marks_cnt += more;
	return h->marks + h->marks_cnt - more;
}

static int take_gap(struct boehm_heap *h, const struct header *head)
{
	struct heap_gap *g = VEC_PUSH(h, gaps);
	if (!g)
		return -ENOMEM;
	*g = (struct heap_gap){ head->block, head->bytes, head->flags & HEADER_UNMAPPED };
	*(g->unmapped ? &h->unmapped_bytes : &h->free_bytes) += g->bytes;
	return 0;
}

static int take_block(struct reading *r, const struct header *head, uint64_t header)
{
	struct boehm_heap *h = r->h;
	struct heap_block *b = VEC_PUSH(h, blocks);
	uint8_t *marks = b ? marks_room(h, head->objects) : NULL;
	if (!marks)
		return -ENOMEM;
	*b = (struct heap_block){
		.addr = head->block,
		.bytes = head->bytes,
		.size = head->size,
		.header = header,
		.objects = head->objects,
		.n_marks = (uint32_t)head->n_marks,
		.marks = h->marks_cnt - head->objects,
		.last_reclaimed = head->last_reclaimed,
		.kind = head->kind,
		.flags = head->flags,
	};
	b->live = header_marks(head, r->l, marks);
	return 0;
}

static int take_header(struct reading *r, const uint8_t *raw, const struct index_entry *e)
{
	struct header head;
	bool good = header_parse(raw, e, r->l, &head) && head.block >= r->end;
	if (good && !header_is_free(&head) && !header_has_sentinel(&head, r->l)) {
		r->clearing = true;
		good = false;
	}
	if (!good) {
		r->h->bad_headers++;
		return 0;
	}
	r->end = head.block + head.bytes;
	r->h->heap_bytes += head.bytes;
	return header_is_free(&head) ? take_gap(r->h, &head) : take_block(r, &head, e->header);
}

static int take_headers(struct reading *r, const struct block_index *x)
{
	size_t each = header_bytes(r->l);
	size_t most = x->entries_cnt < HEADER_CHUNK ? x->entries_cnt : HEADER_CHUNK;
	uint8_t *raw = malloc(most * each + 1);
	int rc = raw ? 0 : -ENOMEM;
	for (size_t at = 0; !rc && at < x->entries_cnt;) {
		size_t n = x->entries_cnt - at < most ? x->entries_cnt - at : most;
		rc = headers_read(r->m, x->entries + at, n, each, raw);
		for (size_t i = 0; !rc && i < n; i++)
			rc = take_header(r, raw + i * each, &x->entries[at + i]);
		at += n;
	}
	free(raw);
	return rc;
}

/* --- do all marks belong to one cycle? ---------------------------------------------------------- */

/* The part of a header that changes in a cycle, and the fields that show that the block is still the same. */
struct rechecked_header {
	uint64_t block;
	uint8_t kind, flags;
	uint16_t last_reclaimed;
	uint32_t pad;
	uint64_t size;
	uint8_t between[0x40 - 0x28];
};

static bool differs(const struct heap_block *b, const struct rechecked_header *w, uint64_t n_marks)
{
	bool same = w->block == b->addr && w->kind == b->kind && w->size == b->size && w->flags == b->flags &&
		    w->last_reclaimed == b->last_reclaimed;
	return same && (uint32_t)n_marks != b->n_marks;
}

/* The block whose marks the collector clears first: in the lowest 4 MiB that have marks, the last marked block. */
static size_t first_cleared(const struct boehm_heap *h)
{
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		const struct heap_block *b = &h->blocks[i];
		if (found != SIZE_MAX && b->addr >> 22 != h->blocks[found].addr >> 22)
			break;
		if (is_collected(b->kind) && b->n_marks)
			found = i;
	}
	return found;
}

/* Chooses blocks whose headers are read again; returns their number. */
static size_t choose_rechecked(const struct boehm_heap *h, size_t *out)
{
	size_t n = 0, first = first_cleared(h), step = h->blocks_cnt / (RECHECKED - 1) + 1;
	if (first != SIZE_MAX)
		out[n++] = first;
	for (size_t i = 0; i < h->blocks_cnt && n < RECHECKED; i += step) {
		if (is_collected(h->blocks[i].kind))
			out[n++] = i;
	}
	return n;
}

static int compare_rechecked(struct memory *m, const struct layout *l, const struct boehm_heap *h, bool *changed)
{
	size_t chosen[RECHECKED], n = choose_rechecked(h, chosen);
	struct rights_range ranges[RECHECKED] = { 0 };
	struct rechecked_header *seen = malloc(sizeof(*seen) * RECHECKED);
	int rc = seen ? 0 : -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct rights_range){ h->blocks[chosen[i]].header + 0x10, sizeof(*seen) };
	if (!rc)
		rc = memory_read_ranges(m, ranges, n, seen, NULL);
	for (size_t i = 0; !rc && i < n; i++) {
		uint64_t n_marks;
		memcpy(&n_marks, (uint8_t *)&seen[i] + l->n_marks_off - 0x10, sizeof(n_marks));
		*changed |= differs(&h->blocks[chosen[i]], &seen[i], n_marks);
	}
	free(seen);
	return rc;
}

/* Whether a cycle is clearing or marking now, if the collector's state variables were found. */
static bool is_marking(struct memory *m, const struct layout *l)
{
	uint64_t stack[3];
	uint32_t state;
	if (l->mark_state && !memory_read(m, l->mark_state, &state, sizeof(state)) && state)
		return true;
	return l->mark_stack && !memory_read(m, l->mark_stack, stack, sizeof(stack)) && stack[2] >= stack[0] &&
	       stack[2] < stack[1];
}

/*
 * A cycle ends by freeing all blocks without marks, so blocks without a mark were created in the current cycle. Any
 * other block without a mark shows that a cycle is clearing, marking or finishing, even if its thread sleeps and
 * nothing changes.
 */
static bool is_unfinished(const struct boehm_heap *h)
{
	size_t collected = 0, marked = 0;
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		const struct heap_block *b = &h->blocks[i];
		if (!is_collected(b->kind))
			continue;
		if (!b->live && !b->n_marks && b->last_reclaimed != (uint16_t)h->gc_no)
			return true;
		collected++;
		marked += b->live != 0;
	}
	/* The first cycle is part of the collector's initialization, when there were no objects yet. */
	return collected && !marked && h->gc_no > 1;
}

static uint64_t latest_sweep(const struct boehm_heap *h)
{
	uint16_t latest = 0;
	for (size_t i = 0; i < h->blocks_cnt; i++)
		latest = h->blocks[i].last_reclaimed > latest ? h->blocks[i].last_reclaimed : latest;
	return latest;
}

int boehm_gc_no(struct memory *m, const struct layout *l, uint64_t *out)
{
	return l->gc_no ? memory_read(m, l->gc_no, out, sizeof(*out)) : -ENOENT;
}

static int read_once(struct memory *m, const struct layout *l, struct boehm_heap *h)
{
	struct block_index x;
	struct reading r = { .m = m, .l = l, .h = h };
	uint64_t before = 0, after = 0;
	bool changed = is_marking(m, l);
	int rc = l->gc_no ? boehm_gc_no(m, l, &before) : 0;
	if (!rc)
		rc = index_read(m, l->top_index, l->all_nils, &x);
	if (rc)
		return rc;
	h->bad_headers = x.strange;
	rc = take_headers(&r, &x);
	index_free(&x);
	if (!rc)
		rc = compare_rechecked(m, l, h, &changed);
	if (!rc && l->gc_no)
		rc = boehm_gc_no(m, l, &after);
	h->unnumbered = !l->gc_no;
	h->gc_no = l->gc_no ? before : latest_sweep(h);
	h->torn = changed || r.clearing || before != after || is_marking(m, l) || (h->gc_no && is_unfinished(h));
	return rc;
}

/* --- finding objects ---------------------------------------------------------------------------- */

static int fill_pages(struct boehm_heap *h)
{
	if (!h->blocks_cnt)
		return 0;
	const struct heap_block *last = &h->blocks[h->blocks_cnt - 1];
	uint64_t first = h->blocks[0].addr / BOEHM_BLOCK, end = (last->addr + last->bytes) / BOEHM_BLOCK;
	uint64_t worthwhile = h->heap_bytes / BOEHM_BLOCK * PAGES_SPREAD + PAGES_MIN;
	if (end - first > worthwhile || end - first > PAGES_MAX || h->blocks_cnt >= UINT32_MAX)
		return 0;
	h->pages = calloc(end - first, sizeof(*h->pages));
	if (!h->pages)
		return -ENOMEM;
	h->first_page = first;
	h->pages_cnt = end - first;
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		const struct heap_block *b = &h->blocks[i];
		for (uint64_t p = 0; p < b->bytes / BOEHM_BLOCK; p++)
			h->pages[b->addr / BOEHM_BLOCK + p - first] = (uint32_t)i + 1;
	}
	return 0;
}

/* The block's fields are consistent, and it lies behind the blocks before it. */
static bool is_block(const struct boehm_heap *h, const struct heap_block *b, uint64_t end)
{
	bool placed = b->addr >= end && !(b->addr % BOEHM_BLOCK) && b->addr < ADDRESS_END && b->bytes <= ADDRESS_END - b->addr;
	bool sized = b->bytes && !(b->bytes % BOEHM_BLOCK) && b->size && b->size <= b->bytes && b->objects;
	bool fits = b->objects == 1 || (b->size <= BOEHM_BLOCK && b->objects * b->size <= BOEHM_BLOCK);
	return placed && sized && fits && b->live <= b->objects && b->marks <= h->marks_cnt &&
	       b->objects <= h->marks_cnt - b->marks;
}

int boehm_heap_adopt(struct boehm_heap *h)
{
	uint64_t end = 0;
	for (size_t i = 0; i < h->blocks_cnt; i++) {
		if (!is_block(h, &h->blocks[i], end))
			return -EBADMSG;
		end = h->blocks[i].addr + h->blocks[i].bytes;
	}
	return fill_pages(h);
}

static size_t search_block(const struct boehm_heap *h, uint64_t addr)
{
	size_t low = SORTED_UNTIL(h->blocks_cnt, i, h->blocks[i].addr <= addr);
	return low && addr - h->blocks[low - 1].addr < h->blocks[low - 1].bytes ? low - 1 : SIZE_MAX;
}

static size_t block_of(const struct boehm_heap *h, uint64_t addr)
{
	uint64_t page = addr / BOEHM_BLOCK - h->first_page;
	if (!h->pages)
		return search_block(h, addr);
	return page < h->pages_cnt && h->pages[page] ? h->pages[page] - 1 : SIZE_MAX;
}

struct heap_object boehm_heap_object(const struct boehm_heap *h, size_t block, uint32_t index)
{
	const struct heap_block *b = &h->blocks[block];
	return (struct heap_object){
		.base = b->addr + index * b->size,
		.size = b->size,
		.block = block,
		.index = index,
		.kind = b->kind,
		.marked = h->marks[b->marks + index],
	};
}

bool boehm_heap_find(const struct boehm_heap *h, uint64_t addr, struct heap_object *out)
{
	size_t block = block_of(h, addr);
	if (block == SIZE_MAX)
		return false;
	const struct heap_block *b = &h->blocks[block];
	uint64_t offset = addr - b->addr;
	uint32_t index = b->objects == 1 ? offset >= b->size : (uint32_t)offset / (uint32_t)b->size;
	if (index >= b->objects)
		return false;
	*out = boehm_heap_object(h, block, index);
	return true;
}

/* --- a consistent reading ------------------------------------------------------------------------ */

static void restart(struct boehm_heap *h)
{
	uint32_t retries = h->retries;
	boehm_heap_free(h);
	h->retries = retries + 1;
}

static int conclude(int rc, uint64_t start, struct boehm_heap *out, struct err *err)
{
	if (rc) {
		boehm_heap_free(out);
		return err_set(err, -rc, "its heap cannot be read: %s", strerror(-rc));
	}
	out->read_ns = start;
	out->took_ns = now_ns() - start;
	return 0;
}

static int read_with_timeout(struct memory *m, const struct layout *l, uint64_t patience_ns, struct boehm_heap *out,
			     struct err *err)
{
	uint64_t began = now_ns(), start = began;
	*out = (struct boehm_heap){ 0 };
	int rc = read_once(m, l, out);
	while (!rc && out->torn && now_ns() - began < patience_ns) {
		struct timespec pause = { .tv_nsec = PAUSE_NS };
		nanosleep(&pause, NULL);
		restart(out);
		start = now_ns();
		rc = read_once(m, l, out);
	}
	if (!rc)
		rc = fill_pages(out);
	return conclude(rc, start, out, err);
}

int boehm_heap_read(struct memory *m, const struct layout *l, struct boehm_heap *out, struct err *err)
{
	return read_with_timeout(m, l, TIMEOUT_NS, out, err);
}

int boehm_heap_read_now(struct memory *m, const struct layout *l, struct boehm_heap *out, struct err *err)
{
	return read_with_timeout(m, l, 0, out, err);
}

/* Called hundreds of times a second, so only what concerns these blocks is read. */
static int read_marks(struct memory *m, const struct layout *l, struct boehm_heap *h)
{
	struct block_index x;
	struct reading r = { .m = m, .l = l, .h = h };
	int rc = l->gc_no ? boehm_gc_no(m, l, &h->gc_no) : 0;
	if (!rc && h->asked)
		rc = index_read_of(m, l->top_index, l->all_nils, h->asked, h->asked_cnt, &x);
	else if (!rc)
		rc = index_read(m, l->top_index, l->all_nils, &x);
	if (rc)
		return rc;
	h->bad_headers = x.strange;
	rc = take_headers(&r, &x);
	index_free(&x);
	h->unnumbered = !l->gc_no;
	if (h->unnumbered)
		h->gc_no = latest_sweep(h);
	if (h->asked)
		h->heap_bytes = h->free_bytes = h->unmapped_bytes = 0;
	return rc ?: h->asked ? 0 : fill_pages(h);
}

int boehm_heap_read_marks(struct memory *m, const struct layout *l, uint64_t *asked, size_t cnt, struct boehm_heap *out,
			  struct err *err)
{
	uint64_t start = now_ns();
	*out = (struct boehm_heap){ .asked = asked, .asked_cnt = cnt };
	int rc = read_marks(m, l, out);
	return conclude(rc, start, out, err);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

bool boehm_heap_covers(const struct boehm_heap *h, uint64_t addr)
{
	return !h->asked || bsearch(&addr, h->asked, h->asked_cnt, sizeof(addr), by_address);
}
