/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/freelists: see freelists.h. */
#include "boehm/freelists.h"

#define ROW 25
#define ROWS_MIN 2
#define ROWS_MAX 3
#define GRANULE 16
#define ANY_KIND (-1)
#define COUNTED_MIN 20 /* least number of nonzero words in gcj's row: they are counters, since few programs use gcj objects */

static bool is_number(uint64_t word)
{
	return word < BOEHM_BLOCK;
}

static bool is_head(const struct boehm_heap *h, uint64_t word, size_t n, int kind)
{
	struct heap_object o;
	return is_number(word) || (boehm_heap_find(h, word, &o) && o.base == word && o.size == (n ? n : 1) * GRANULE &&
				   (kind == ANY_KIND || o.kind == kind));
}

static bool is_row(const struct boehm_heap *h, const uint64_t *row, int kind)
{
	size_t n = 0;
	while (n < ROW && is_head(h, row[n], n, kind))
		n++;
	return n == ROW;
}

static bool is_gcj(const struct boehm_heap *h, const uint64_t *row)
{
	size_t counted = 0, n = 1;
	while (row[0] == UINT64_MAX && n < ROW && is_head(h, row[n], n, ANY_KIND))
		counted += row[n++] != 0;
	return n == ROW && counted >= COUNTED_MIN;
}

/* The number of rows in front of gcj's; 0: these are not free lists. */
static size_t rows_before(const struct boehm_heap *h, const uint64_t *gcj, size_t before)
{
	for (size_t rows = ROWS_MAX; rows >= ROWS_MIN; rows--) {
		if (before >= rows * ROW && is_row(h, gcj - rows * ROW, HEAP_ATOMIC) &&
		    is_row(h, gcj - (rows - 1) * ROW, HEAP_NORMAL) &&
		    is_row(h, gcj - ROW, rows > ROWS_MIN ? ANY_KIND : HEAP_NORMAL))
			return rows;
	}
	return 0;
}

struct freelists freelists_find(const struct boehm_heap *h, const uint64_t *words, size_t cnt, size_t from)
{
	for (size_t i = from; i + ROW <= cnt; i++) {
		size_t rows = is_gcj(h, words + i) ? rows_before(h, words + i, i - from) : 0;
		if (rows)
			return (struct freelists){ i - rows * ROW, i + ROW };
	}
	return (struct freelists){ cnt, cnt };
}
