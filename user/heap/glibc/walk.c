/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/walk: see walk.h. */
#include "glibc/walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access/pages.h"
#include "base/vec.h"

#define SIZE_BITS 7ull
#define PREV_IN_USE 1ull
#define SMALLEST 32
#define FENCE 16

#define WINDOW_MAX (256u << 10)
#define WINDOW_MIN 4096
#define PIECES_MAX (WINDOW_MAX / WINDOW_MIN)
#define FEW 16 /* chunks in the largest window: then each is read alone */
#define TRIES 12
#define LOST_MAX 1000 /* in one reading */
#define LOOK_BACK 16  /* chunks, at the first try; each goes back twice as far */
#define CACHE_MAX 0x290

struct walk {
	struct memory *m;
	const struct glibc_layout *l;
	struct glibc_heap *h;
	struct glibc_piece *piece;
	uint64_t at, len; /* what of the process is in bytes */
	size_t seen;      /* chunks from there on */
	/* Of these, pages that were used; the others are zero. */
	struct rights_range used[1 + PIECES_MAX];
	size_t used_cnt, used_at;
	unsigned lost;
	uint8_t *bytes;
	struct pages *pages;
};

/* --- reading ahead -------------------------------------------------------------------------------- */

/*
 * Large chunks are stepped over, and little is read of each. But a system call, through another process perhaps, costs as much as
 * 100 KB: where chunks were smaller on average since the last one, much is read at once.
 */
static int read_window(struct walk *w, uint64_t addr)
{
	bool small = w->len && addr > w->at && (addr - w->at) / (w->seen ?: 1) < WINDOW_MAX / FEW;
	size_t n = small ? WINDOW_MAX : WINDOW_MIN, gone = 0;
	n = w->piece->end - addr < n ? w->piece->end - addr : n;
	/* What is wanted has just been used, perhaps. */
	uint64_t first_end = (addr / PAGE_BYTES + 1) * PAGE_BYTES, end = addr + n, at = first_end;
	w->used[0] = (struct rights_range){ addr, (first_end < end ? first_end : end) - addr };
	w->used_cnt = 1 + pages_used(w->pages, &at, end, w->used + 1, PIECES_MAX);
	w->used_at = w->seen = 0;
	w->at = addr;
	w->len = 0;
	memset(w->bytes, 0, n + CACHE_MAX); /* as pages that were never used are */
	int rc = memory_read_spread(w->m, w->used, w->used_cnt, addr, w->bytes, &gone);
	rc = !rc && gone ? -EFAULT : rc;
	w->len = rc ? 0 : n;
	return rc;
}

static bool was_used(struct walk *w, uint64_t addr)
{
	while (w->used_at < w->used_cnt && addr >= w->used[w->used_at].addr + w->used[w->used_at].n)
		w->used_at++;
	return w->used_at < w->used_cnt && addr >= w->used[w->used_at].addr;
}

/* *out: n bytes at addr, or as many as there are in this piece. */
static int bytes_at(struct walk *w, uint64_t addr, size_t n, const uint8_t **out)
{
	n = w->piece->end - addr < n ? w->piece->end - addr : n;
	bool here = addr >= w->at && addr - w->at < w->len && w->len - (addr - w->at) >= n && was_used(w, addr);
	int rc = here ? 0 : read_window(w, addr);
	*out = w->bytes + (addr - w->at);
	return rc;
}

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t w;
	memcpy(&w, bytes + at, 8);
	return w;
}

/* --- caches of threads ------------------------------------------------------------------------------ */

static uint64_t cache_chunk(const struct glibc_layout *l)
{
	return l->version >= 30 ? 0x290 : 0x250;
}

/* A table of counts and of lists, with a list where there is a count. Its lists are checked when all chunks are known. */
static bool is_cache(const struct glibc_layout *l, const uint8_t *bytes, struct glibc_cache *out)
{
	size_t each = l->version >= 30 ? 2 : 1;
	bool any = false;
	for (size_t i = 0; i < TCACHE_BINS; i++) {
		out->counts[i] = 0;
		memcpy(&out->counts[i], bytes + CHUNK_HEADER + i * each, each);
		out->entries[i] = word_at(bytes, CHUNK_HEADER + TCACHE_BINS * each + i * 8);
		if (!out->counts[i] != !out->entries[i] || out->entries[i] & 15)
			return false;
		any |= out->counts[i] != 0;
	}
	return any;
}

static int take_cache(struct walk *w, uint64_t addr, const uint8_t *bytes)
{
	struct glibc_cache c = { .addr = addr };
	if (!is_cache(w->l, bytes, &c))
		return 0;
	struct glibc_cache *slot = VEC_PUSH(w->h, caches);
	if (!slot)
		return -ENOMEM;
	*slot = c;
	return 0;
}

/* --- chunks --------------------------------------------------------------------------------------- */

static int astray(const struct walk *w, uint64_t addr, uint64_t size, struct err *err)
{
	return err_set(err, EILSEQ,
		       "the chunk at 0x%" PRIx64 " has the size 0x%" PRIx64 ", which leads out of its arena (0x%" PRIx64 ")",
		       addr, size, w->h->arenas[w->piece->arena].addr);
}

/* What a chunk's first word says of the one before it. */
static void set_previous(struct glibc_heap *h, const struct glibc_piece *p, uint64_t before, uint64_t head)
{
	struct glibc_chunk *last = h->chunks_cnt > p->first ? &h->chunks[h->chunks_cnt - 1] : NULL;
	if (!last)
		return;
	last->state = !(head & PREV_IN_USE) ? CHUNK_FREE : last->state == CHUNK_FREE ? CHUNK_USED : last->state;
	if (last->state == CHUNK_FREE && before != last->size)
		glibc_heap_odd(h, "the free chunk at 0x%" PRIx64 " has two sizes", last->addr);
}

/* The chunk at `at`; *next is where the one behind it is. */
static int step(struct walk *w, uint64_t at, uint64_t *next, struct err *err)
{
	const struct glibc_piece *p = w->piece;
	const uint8_t *bytes;
	int rc = p->end - at < CHUNK_HEADER ? -EILSEQ : bytes_at(w, at, CHUNK_HEADER + 8, &bytes);
	if (rc)
		return rc == -EILSEQ || rc == -EFAULT ? astray(w, at, 0, err) : rc;
	uint64_t head = word_at(bytes, 8), size = head & ~SIZE_BITS, left = p->end - at;
	bool top = at == w->h->arenas[p->arena].top, end = !size || (size == FENCE && left < SMALLEST);
	if (!end && ((size < SMALLEST && size != FENCE) || size & 15 || size > left || (size == left && !top)))
		return astray(w, at, size, err);
	set_previous(w->h, p, word_at(bytes, 0), head);
	*next = end || top ? p->end : at + size;
	struct glibc_chunk *c = VEC_PUSH(w->h, chunks);
	if (!c)
		return -ENOMEM;
	*c = (struct glibc_chunk){ .addr = at, .size = end ? left : size, .state = top ? CHUNK_TOP : CHUNK_USED };
	c->word = size >= SMALLEST && left >= 24 ? word_at(bytes, CHUNK_HEADER) : 0;
	if (end || size == FENCE)
		c->state = CHUNK_FENCE;
	w->seen++;
	if (size != cache_chunk(w->l) || end || top)
		return 0;
	rc = bytes_at(w, at, size, &bytes);
	return rc ? rc : take_cache(w, at, bytes);
}

/* Chunks come and go while they are read. Back to one that may still be there; as many are forgotten as lie behind it. */
static uint64_t step_back(struct walk *w, unsigned tries)
{
	struct glibc_heap *h = w->h;
	size_t n = h->chunks_cnt - w->piece->first, back = (size_t)LOOK_BACK << 2 * tries;
	size_t keep = n > back && tries + 1 < TRIES ? n - back : 0;
	uint64_t at = keep ? h->chunks[w->piece->first + keep].addr : w->piece->start;
	h->chunks_cnt = w->piece->first + keep;
	while (h->caches_cnt && h->caches[h->caches_cnt - 1].addr >= at && h->caches[h->caches_cnt - 1].addr < w->piece->end)
		h->caches_cnt--;
	w->len = 0;
	return at;
}

static int walk_piece(struct walk *w, struct err *err)
{
	struct glibc_piece *p = w->piece;
	uint64_t at = p->start, next = at, lost_at = 0;
	unsigned tries = 0;
	int rc = 0;
	p->first = w->h->chunks_cnt;
	w->len = 0;
	while (!rc && at < p->end) {
		rc = step(w, at, &next, err);
		if (rc == -EILSEQ && tries < TRIES && w->lost++ < LOST_MAX) {
			tries = at > lost_at ? 1 : tries + 1;
			lost_at = at > lost_at ? at : lost_at;
			glibc_heap_odd(w->h, "%s", "a chunk changed while it was read");
			next = step_back(w, tries - 1);
			rc = 0;
		}
		at = next;
	}
	p->cnt = w->h->chunks_cnt - p->first;
	return rc;
}

/* A piece whose beginning was guessed is worth nothing unless its chunks lead to its end. */
static int walk_or_leave(struct walk *w, struct err *err)
{
	struct glibc_heap *h = w->h;
	const struct glibc_arena *a = &h->arenas[w->piece->arena];
	uint64_t odd = h->odd;
	int rc = walk_piece(w, err);
	if (rc != -EILSEQ || !a->scattered)
		return rc;
	h->odd = odd;
	h->chunks_cnt = w->piece->first;
	w->piece->cnt = 0;
	return 0;
}

static void count_unread(struct glibc_heap *h)
{
	uint64_t arenas = 0, pieces = 0;
	for (size_t i = 0; i < h->arenas_cnt; i++)
		arenas += h->arenas[i].system_bytes;
	for (size_t i = 0; i < h->pieces_cnt; i++) {
		const struct glibc_piece *p = &h->pieces[i];
		pieces += p->cnt ? p->end - (p->start & ~(WINDOW_MIN - 1ull)) : 0;
	}
	h->unread_bytes = arenas > pieces ? arenas - pieces : 0;
}

int glibc_walk(struct memory *m, const struct glibc_layout *l, struct glibc_heap *out, struct err *err)
{
	static struct pages pages; /* too large for a stack */
	struct walk w = { .m = m, .l = l, .h = out, .bytes = malloc(WINDOW_MAX + CACHE_MAX), .pages = &pages };
	int rc = w.bytes ? 0 : -ENOMEM;
	pages.fd = -1;
	if (!m->source)
		pages_open(&pages, m->through ?: m->tgid);
	for (size_t i = 0; i < out->pieces_cnt && !rc; i++) {
		w.piece = &out->pieces[i];
		rc = walk_or_leave(&w, err);
	}
	free(w.bytes);
	pages_close(&pages);
	if (rc && rc != -EILSEQ)
		err_set(err, -rc, "its heap cannot be read: %s", strerror(-rc));
	count_unread(out);
	return rc;
}
