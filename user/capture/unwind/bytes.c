/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/bytes: see bytes.h. Both ends are the same program, so arrays are sent as they are in memory. */
#include "unwind/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"

#define PAGE_ROWS_MAX (1u << ALYS_PAGE_SHIFT)

static void put_array(struct buf *out, const void *at, size_t n, size_t size)
{
	buf_varint(out, n);
	buf_add(out, at, n * size);
}

/* False: more than the remaining bytes can hold, or out of memory. */
static bool take_array(struct cursor *c, void **at, size_t *n, size_t size)
{
	*n = cursor_varint(c);
	if (c->bad || *n > cursor_left(c) / size)
		return false;
	*at = malloc(*n * size + 1);
	if (*at)
		memcpy(*at, cursor_bytes(c, *n * size), *n * size);
	return *at;
}

void unwind_write(const struct unwind_table *t, struct buf *out)
{
	buf_varint(out, t->machine);
	buf_varint(out, t->page0);
	buf_add(out, &t->counts, sizeof(t->counts));
	put_array(out, t->pages, t->pages_cnt + 1, sizeof(*t->pages));
	put_array(out, t->rows, t->rows_cnt, sizeof(*t->rows));
	put_array(out, t->specs, t->specs_cnt, sizeof(*t->specs));
}

/* Each page has at least one row, and no more rows than bytes. */
static bool pages_are_sound(const struct unwind_table *t)
{
	for (size_t i = 0; i < t->pages_cnt; i++) {
		if (t->pages[i + 1] <= t->pages[i] || t->pages[i + 1] - t->pages[i] > PAGE_ROWS_MAX)
			return false;
	}
	return t->pages[0] == 0 && t->pages[t->pages_cnt] == t->rows_cnt;
}

static bool row_is_sound(const struct unwind_table *t, uint32_t row)
{
	uint32_t kind = row & ALYS_ROW_KIND, aux = (row & ALYS_ROW_INFO & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT;
	if (!(row & ALYS_ROW_SPECIAL))
		return true;
	return kind <= ALYS_ROW_SPEC && (kind != ALYS_ROW_SPEC || aux < t->specs_cnt) &&
	       (kind != ALYS_ROW_UNSUPPORTED || aux < ALYS_ROW_WHY_CNT);
}

static bool is_sound(const struct unwind_table *t)
{
	bool sound = t->pages_cnt && t->page0 + t->pages_cnt <= UINT32_MAX && pages_are_sound(t);
	for (size_t i = 0; sound && i < t->rows_cnt; i++)
		sound = row_is_sound(t, t->rows[i]);
	return sound;
}

static bool read_table(struct cursor *c, struct unwind_table *t)
{
	t->machine = cursor_varint(c);
	t->page0 = cursor_varint(c);
	const void *counts = cursor_bytes(c, sizeof(t->counts));
	if (!counts || !cfi_machine_of(t->machine) || t->page0 > UINT32_MAX)
		return false;
	memcpy(&t->counts, counts, sizeof(t->counts));
	if (!take_array(c, (void **)&t->pages, &t->pages_cnt, sizeof(*t->pages)) || !t->pages_cnt--)
		return false;
	return take_array(c, (void **)&t->rows, &t->rows_cnt, sizeof(*t->rows)) &&
	       take_array(c, (void **)&t->specs, &t->specs_cnt, sizeof(*t->specs)) && is_sound(t);
}

struct unwind_table *unwind_read(struct cursor *c)
{
	struct unwind_table *t = calloc(1, sizeof(*t));
	if (t && read_table(c, t))
		return t;
	unwind_free(t);
	return NULL;
}
