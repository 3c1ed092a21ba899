/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/arena: see arena.h. */
#include "glibc/arena.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define HEAP_MASK ((64ull << 20) - 1)     /* the heaps of other arenas begin at such addresses */
#define HUGE_HEAP_MASK ((8ull << 20) - 1) /* or at these, where huge pages were asked for: glibc.malloc.hugetlb=2 */
#define PIECES_MAX (1u << 20)
#define NONCONTIGUOUS 2 /* in an arena's flags */

struct heap_info { /* at the beginning of each heap but the main arena's */
	uint64_t arena, prev, size, writable;
};

static int unreadable(uint64_t addr, int rc, struct err *err)
{
	if (rc != -EFAULT)
		return err_set(err, -rc, "its memory cannot be read: %s", strerror(-rc));
	return err_set(err, EILSEQ, "0x%" PRIx64 ", which should be part of the heap, cannot be read", addr);
}

static uint64_t up16(uint64_t n)
{
	return (n + 15) & ~15ull;
}

/* --- pieces --------------------------------------------------------------------------------------- */

static int add_piece(struct glibc_heap *h, uint64_t start, uint64_t end, uint32_t arena)
{
	struct glibc_piece *slot = start < end ? VEC_PUSH(h, pieces) : NULL;
	if (slot)
		*slot = (struct glibc_piece){ .start = start, .end = end, .arena = arena };
	return slot || start >= end ? 0 : -ENOMEM;
}

/*
 * Not by brk alone: what else belongs to it cannot be distinguished from other memory. What lies in front of its top is
 * taken if it begins where a mapping does.
 */
static int add_scattered(const struct space *s, struct glibc_heap *h, uint64_t end)
{
	const struct space_region *of_top = space_find(s, end - 1);
	struct glibc_arena *a = &h->arenas[0];
	int rc = 0;
	a->scattered = true;
	for (size_t i = 0; i < s->regions_cnt && !rc; i++) {
		const struct space_region *r = &s->regions[i];
		if (r == of_top)
			rc = add_piece(h, r->start, end, 0);
		else if (!strcmp(r->path, "[heap]"))
			rc = add_piece(h, r->start, r->end, 0);
	}
	return rc;
}

/* All of it: in one mapping, or in several side by side, as in a child that has made its parent's heap larger. */
static bool is_mapped(const struct space *s, uint64_t start, uint64_t end)
{
	const struct space_region *r = space_find(s, start), *behind = s->regions + s->regions_cnt;
	uint64_t at = start;
	for (; r && r < behind && r->start <= at && at < end && r->readable; r++)
		at = r->end;
	return at >= end;
}

static int add_main(const struct space *s, struct glibc_heap *h, uint64_t end, bool scattered)
{
	struct glibc_arena *a = &h->arenas[0];
	uint64_t start = up16(end - a->system_bytes);
	bool whole = !scattered && a->system_bytes < end && is_mapped(s, start, end);
	return whole ? add_piece(h, start, end, 0) : add_scattered(s, h, end);
}

static uint64_t heap_of_top(struct memory *m, const struct glibc_arena *a, uint64_t end)
{
	struct heap_info info;
	uint64_t at = a->top & ~HUGE_HEAP_MASK;
	bool huge = !memory_read(m, at, &info, sizeof(info)) && info.arena == a->addr && end == at + info.size;
	return huge ? at : a->top & ~HEAP_MASK;
}

/* From the heap that its top is in back to the one that it lies in itself. */
static int add_heaps(struct memory *m, const struct glibc_layout *l, struct glibc_heap *h, uint64_t end, struct err *err)
{
	uint32_t no = (uint32_t)h->arenas_cnt - 1;
	const struct glibc_arena *a = &h->arenas[no];
	uint64_t last = heap_of_top(m, a, end), at = last, head = a->addr & HUGE_HEAP_MASK;
	for (bool first = false; !first && h->pieces_cnt < PIECES_MAX;) {
		struct heap_info info;
		int rc = memory_read(m, at, &info, sizeof(info));
		if (rc)
			return unreadable(at, rc, err);
		if (info.arena != a->addr || info.size > HEAP_MASK + 1)
			return err_set(err, EILSEQ, "0x%" PRIx64 " is no heap of the arena at 0x%" PRIx64, at, a->addr);
		first = a->addr - at == head;
		uint64_t start = first ? up16(a->addr + ARENA_SIZE(l)) : at + head;
		if (add_piece(h, start, at == last ? end : at + info.size, no))
			return err_set(err, ENOMEM, "out of memory");
		at = info.prev;
	}
	return 0;
}

/* --- arenas --------------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t w;
	memcpy(&w, bytes + at, 8);
	return w;
}

static int add_arena(struct glibc_heap *h, const struct glibc_layout *l, uint64_t addr, const uint8_t *bytes)
{
	struct glibc_arena *a = VEC_PUSH(h, arenas);
	if (!a)
		return -ENOMEM;
	*a = (struct glibc_arena){
		.addr = addr,
		.top = word_at(bytes, ARENA_TOP(l)),
		.system_bytes = word_at(bytes, ARENA_SYSTEM(l)),
		.locked = (uint32_t)word_at(bytes, 0) != 0,
	};
	memcpy(a->fastbins, bytes + ARENA_FASTBINS(l), sizeof(a->fastbins));
	memcpy(a->bins, bytes + l->bins, sizeof(a->bins));
	if (a->locked)
		glibc_heap_odd(h, "a thread is in malloc");
	return 0;
}

static int add_pieces(struct memory *m, const struct space *s, const struct glibc_layout *l, struct glibc_heap *h, bool scattered,
		      struct err *err)
{
	const struct glibc_arena *a = &h->arenas[h->arenas_cnt - 1];
	uint64_t head;
	/* A new one has no memory yet: its top is one of its own bins. */
	if (a->top >= a->addr && a->top < a->addr + l->bins + 16)
		return 0;
	int rc = memory_read(m, a->top + 8, &head, sizeof(head));
	if (rc)
		return unreadable(a->top, rc, err);
	uint64_t end = a->top + (head & ~7ull);
	if (a->top & 15 || end <= a->top)
		return err_set(err, EILSEQ, "the arena at 0x%" PRIx64 " has no sound end", a->addr);
	if (h->arenas_cnt > 1)
		return add_heaps(m, l, h, end, err);
	return add_main(s, h, end, scattered) ? err_set(err, ENOMEM, "out of memory") : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct glibc_piece *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Pieces that overlap would count chunks twice. */
static int order_pieces(struct glibc_heap *h, struct err *err)
{
	if (h->pieces_cnt)
		qsort(h->pieces, h->pieces_cnt, sizeof(*h->pieces), by_start);
	for (size_t i = 1; i < h->pieces_cnt; i++) {
		if (h->pieces[i].start < h->pieces[i - 1].end)
			return err_set(err, EILSEQ, "two of its arenas claim 0x%" PRIx64, h->pieces[i].start);
	}
	return 0;
}

int glibc_arenas_read(struct memory *m, const struct space *s, const struct glibc_layout *l, struct glibc_heap *out,
		      struct err *err)
{
	uint8_t bytes[ARENA_SIZE_MAX];
	uint64_t at = l->main_arena;
	do {
		int rc = memory_read(m, at, bytes, ARENA_SIZE(l));
		if (rc)
			return unreadable(at, rc, err);
		if (add_arena(out, l, at, bytes))
			return err_set(err, ENOMEM, "out of memory");
		/* The flags stand behind the lock, which has half a word. */
		rc = add_pieces(m, s, l, out, word_at(bytes, 0) >> 32 & NONCONTIGUOUS, err);
		if (rc)
			return rc;
		at = word_at(bytes, ARENA_NEXT(l));
	} while (at != l->main_arena && out->arenas_cnt < GLIBC_ARENAS_MAX);
	if (at != l->main_arena)
		return err_set(err, EILSEQ, "its list of arenas has no end");
	return order_pieces(out, err);
}
