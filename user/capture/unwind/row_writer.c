/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/row_writer: see row_writer.h and the picture in bpf/rows.h. */
#include "unwind/row_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define PAGE_MASK ((1u << ALYS_PAGE_SHIFT) - 1)
#define NO_INFO ALYS_ROW_SPECIAL_OF(ALYS_ROW_NONE, 0)
/* Distinct specs of one file; whole distributions have 50. */
#define SPECS_MAX 256

int row_writer_open(struct row_writer *w, struct unwind_table *t, uint64_t lo, uint64_t hi)
{
	*w = (struct row_writer){ .t = t, .now = NO_INFO };
	t->page0 = lo >> ALYS_PAGE_SHIFT;
	size_t pages = ((hi - 1) >> ALYS_PAGE_SHIFT) - t->page0 + 1;
	w->pages_end = (t->page0 + pages) << ALYS_PAGE_SHIFT;
	t->pages = calloc(pages + 1, sizeof(*t->pages));
	return t->pages ? 0 : -ENOMEM;
}

static int push(struct unwind_table *t, uint64_t pc, uint32_t info)
{
	/* Called hundreds of thousands of times: VEC_PUSH would take a quarter of the time. */
	if (t->rows_cnt == t->rows_cap) {
		uint32_t *grown = vec_grow(t->rows, &t->rows_cap, t->rows_cnt, sizeof(*t->rows));
		if (!grown)
			return -ENOMEM;
		t->rows = grown;
	}
	t->rows[t->rows_cnt++] = (uint32_t)(pc & PAGE_MASK) << ALYS_ROW_PC_SHIFT | info;
	return 0;
}

/* Begins all pages up to pc's; each begins with a copy of the row in force there. */
static int open_pages(struct row_writer *w, uint64_t pc)
{
	struct unwind_table *t = w->t;
	uint64_t page = (pc >> ALYS_PAGE_SHIFT) - t->page0;
	while (t->pages_cnt <= page) {
		t->pages[t->pages_cnt++] = (uint32_t)t->rows_cnt;
		if (push(t, 0, w->now))
			return -ENOMEM;
	}
	w->page_end = (t->page0 + t->pages_cnt) << ALYS_PAGE_SHIFT;
	return 0;
}

int row_write(struct row_writer *w, uint64_t pc, uint32_t info)
{
	if (pc >= w->page_end && open_pages(w, pc))
		return -ENOMEM;
	if (info == w->now)
		return 0;
	w->now = info;
	if ((pc & PAGE_MASK) == 0) {
		w->t->rows[w->t->rows_cnt - 1] = info; /* the copy would apply nowhere */
		return 0;
	}
	return push(w->t, pc, info);
}

uint32_t row_of_spec(struct row_writer *w, const struct alys_spec *spec)
{
	uint64_t words[3] = { 0 };
	memcpy(words, spec, sizeof(*spec));
	uint64_t key = (words[0] * 0x9e3779b97f4a7c15ull) ^ words[1] ^ words[2] << 7;
	uint64_t *at = map_get(&w->specs, key);
	if (at && !memcmp(&w->t->specs[*at], spec, sizeof(*spec)))
		return ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, *at);
	uint32_t full = ALYS_ROW_SPECIAL_OF(ALYS_ROW_UNSUPPORTED, ALYS_ROW_WHY_FULL);
	if (at || w->t->specs_cnt == SPECS_MAX || !(at = map_put(&w->specs, key)))
		return full;
	struct alys_spec *slot = VEC_PUSH(w->t, specs);
	if (!slot) {
		map_del(&w->specs, key);
		return full;
	}
	*slot = *spec;
	*at = w->t->specs_cnt - 1;
	return ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, *at);
}

static void count_row(struct unwind_counts *c, uint32_t row)
{
	uint64_t *const by_kind[] = { &c->none, &c->end, &c->plt, &c->signal, NULL, &c->spec };
	if (!(row & ALYS_ROW_SPECIAL))
		c->plain++;
	else if ((row & ALYS_ROW_KIND) == ALYS_ROW_UNSUPPORTED)
		c->unsupported[(row & ALYS_ROW_INFO & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT]++;
	else
		++*by_kind[row & ALYS_ROW_KIND];
}

int row_writer_close(struct row_writer *w)
{
	struct unwind_table *t = w->t;
	int rc = open_pages(w, w->pages_end - 1); /* the last row may apply to many pages */
	map_free(&w->specs);
	t->pages[t->pages_cnt] = (uint32_t)t->rows_cnt;
	for (size_t i = 0; i < t->rows_cnt; i++)
		count_row(&t->counts, t->rows[i]);
	return rc;
}
