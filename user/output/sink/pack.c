/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink/pack: see pack.h. All numbers are LEB128. Paths are root first and sorted; each is stored as the number of frames
 * shared with the one before, and the rest, which is a preorder of the tree of all paths.
 *
 *   labels   count, then each: name, file (length and bytes), line, module, whether it was inlined
 *   types    count, then each: its name; the first one stands for no type
 *   paths    count, then each: type, frames shared, frames added, the added labels
 *   sums     count of columns and their names (SUMS); these columns, one number per path
 *   cells    count by path; by path the power of two by which its slices are wider; slices as
 *            differences; count of values, of each its name and whether it has bytes; of each
 *            a column of blocks, and one of bytes if so
 *   heap     count of its slices; a column of bytes allocated, freed, and highest live
 */
#include "sink/pack.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/text.h"
#include "format/format.h"

static void put_real(struct buf *b, double v)
{
	buf_varint(b, v >= 0x1p53 ? 1ull << 53 : v > 0 ? (uint64_t)llround(v) : 0);
}

static uint32_t frame_from_root(const struct paths *p, uint32_t path, size_t i)
{
	return paths_frame(p, path, paths_depth(p, path) - 1 - i);
}

static size_t shared_frames(const struct paths *p, uint32_t a, uint32_t b)
{
	size_t na = paths_depth(p, a), nb = paths_depth(p, b), i = 0;
	while (i < na && i < nb && frame_from_root(p, a, i) == frame_from_root(p, b, i))
		i++;
	return i;
}

static int compare_paths(const void *a, const void *b, void *ctx)
{
	const struct paths *p = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t nx = paths_depth(p, x), ny = paths_depth(p, y), i = shared_frames(p, x, y);
	if (i == nx && i == ny)
		return (paths_type(p, x) > paths_type(p, y)) - (paths_type(p, x) < paths_type(p, y));
	if (i == nx || i == ny)
		return nx > ny ? 1 : -1;
	return frame_from_root(p, x, i) < frame_from_root(p, y, i) ? -1 : 1;
}

static void put_labels(const struct paths *p, struct buf *b)
{
	buf_varint(b, p->labels.spans_cnt);
	for (size_t i = 0; i < p->labels.spans_cnt; i++) {
		const char *part[5];
		paths_split(paths_label(p, (uint32_t)i), 5, part);
		buf_lenstr(b, part[0]);
		buf_lenstr(b, part[1]);
		buf_varint(b, strtoul(part[2], NULL, 10));
		buf_lenstr(b, part[3]);
		buf_varint(b, strtoul(part[4], NULL, 10));
	}
}

static void put_types(const struct names *types, struct buf *b)
{
	buf_varint(b, types->spans_cnt);
	for (size_t i = 0; i < types->spans_cnt; i++)
		buf_lenstr(b, names_at(types, (uint32_t)i));
}

static void put_paths(const struct paths *p, const uint32_t *order, size_t n, struct buf *b)
{
	buf_varint(b, n);
	for (size_t i = 0; i < n; i++) {
		size_t depth = paths_depth(p, order[i]);
		size_t shared = i ? shared_frames(p, order[i - 1], order[i]) : 0;
		buf_varint(b, paths_type(p, order[i]));
		buf_varint(b, shared);
		buf_varint(b, depth - shared);
		for (size_t k = shared; k < depth; k++)
			buf_varint(b, frame_from_root(p, order[i], k));
	}
}

/* Averaged over the path's blocks, which are similar. If all were carried over, only the interval is known. */
static double var_per_byte(const struct tally *t, const struct tally_row *r)
{
	return r->alloc.sz > 0 ? spread_added(&r->alloc_off) / r->alloc.sz : (double)format_interval(t->paths.catalog);
}

/*
 * X(name, value): max: the own maximum of the path; times in us; varPerByte: what a byte adds to the variance of
 * estimated bytes; steadyPpm: how steadily bytes were gained, in millionths; gainedError: standard error of gainedSz.
 */
#define SUMS(X)                           \
	X(allocCnt, r->alloc.cnt)         \
	X(allocSz, r->alloc.sz)           \
	X(liveCnt, r->live.cnt)           \
	X(liveSz, r->live.sz)             \
	X(peakCnt, r->peak.cnt)           \
	X(peakSz, r->peak.sz)             \
	X(maxSz, r->max.sz)               \
	X(lifeUs, r->life_ns / 1000)      \
	X(carriedCnt, r->carried.cnt)     \
	X(carriedSz, r->carried.sz)       \
	X(varPerByte, var_per_byte(t, r)) \
	X(gainedSz, g->gained)            \
	X(steadyPpm, 1e6 * g->steadiness) \
	X(gainedError, sqrt(g->gained_var))

static const char *const sum_names[] = {
#define X(name, value) #name,
	SUMS(X)
#undef X
};
#define SUMS_CNT (sizeof(sum_names) / sizeof(*sum_names))

static double sum_of(const struct tally *t, uint32_t path, size_t column)
{
	const struct tally_row *r = &t->rows[path];
	const struct tally_growth *g = &t->growth[path];
	const double of[] = {
#define X(name, value) value,
		SUMS(X)
#undef X
	};
	return of[column];
}

static void put_sums(const struct tally *t, const uint32_t *order, size_t n, struct buf *b)
{
	buf_varint(b, SUMS_CNT);
	for (size_t i = 0; i < SUMS_CNT; i++)
		buf_lenstr(b, sum_names[i]);
	for (size_t column = 0; column < SUMS_CNT; column++) {
		for (size_t i = 0; i < n; i++)
			put_real(b, sum_of(t, order[i], column));
	}
}

/* Twelve significant bits are enough for a mean lifetime; more would make a page a fifth larger. */
static double rounded(double v)
{
	int exponent;
	double part = frexp(v, &exponent);
	return exponent > 12 ? ldexp(round(ldexp(part, 12)), exponent - 12) : v;
}

static const char *const cell_names[CELL_VALUES] = {
	[CELL_ALLOC] = "alloc", [CELL_FREED] = "freed", [CELL_TEMPORARY] = "temporary",
	[CELL_KEPT] = "kept",   [CELL_LIFE] = "life",
};

static void put_cells(const struct cells *c, const uint32_t *order, size_t n, struct buf *b)
{
	static const struct cell_row none;
#define ROW(i) (order[i] < c->rows_cnt ? &c->rows[order[i]] : &none)
	for (size_t i = 0; i < n; i++)
		buf_varint(b, ROW(i)->at_cnt);
	for (size_t i = 0; i < n; i++)
		buf_varint(b, ROW(i)->coarse);
	for (size_t i = 0; i < n; i++) {
		uint32_t last = 0;
		for (size_t k = 0; k < ROW(i)->at_cnt; k++) {
			buf_varint(b, ROW(i)->at[k].slice - last);
			last = ROW(i)->at[k].slice;
		}
	}
	buf_varint(b, CELL_VALUES);
	for (int v = 0; v < CELL_VALUES; v++) {
		buf_lenstr(b, cell_names[v]);
		buf_varint(b, v != CELL_LIFE);
	}
	for (int column = 0; column <= 2 * CELL_LIFE; column++) {
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < ROW(i)->at_cnt; k++) {
				const struct amount *v = &ROW(i)->at[k].v[column / 2];
				put_real(b, column == 2 * CELL_LIFE ? rounded(v->cnt) : column % 2 ? v->sz : v->cnt);
			}
		}
	}
#undef ROW
}

static void put_heap(const struct cells *c, struct buf *b)
{
	buf_varint(b, c->heap_reached);
	for (uint32_t i = 0; i < c->heap_reached; i++)
		put_real(b, c->heap[i].alloc_sz);
	for (uint32_t i = 0; i < c->heap_reached; i++)
		put_real(b, c->heap[i].freed_sz);
	for (uint32_t i = 0; i < c->heap_reached; i++)
		put_real(b, c->heap[i].highest);
}

static int deflate_base64(const struct buf *raw, struct buf *out)
{
	struct buf packed = { 0 };
	uLongf n = compressBound(raw->len);
	uint8_t *room = raw->failed ? NULL : buf_room(&packed, n);
	int rc = room && compress2(room, &n, raw->data, raw->len, 6) == Z_OK ? 0 : -ENOMEM;
	if (!rc)
		text_base64(out, room, n);
	buf_free(&packed);
	return rc ? rc : out->failed ? -ENOMEM : 0;
}

int pack_base64(const struct tally *t, const struct cells *c, struct buf *out)
{
	size_t n = paths_cnt(&t->paths);
	uint32_t *order = calloc(n + 1, sizeof(*order));
	struct buf raw = { 0 };
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_paths, (void *)&t->paths);
	put_labels(&t->paths, &raw);
	put_types(&t->paths.types, &raw);
	put_paths(&t->paths, order, n, &raw);
	put_sums(t, order, n, &raw);
	put_cells(c, order, n, &raw);
	put_heap(c, &raw);
	int rc = deflate_base64(&raw, out);
	buf_free(&raw);
	free(order);
	return rc;
}
