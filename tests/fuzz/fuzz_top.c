/* SPDX-License-Identifier: Apache-2.0 */
/* An arbitrary list of stacks in the live view, followed by keys: lines must fit the screen, without control characters. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "top/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(struct view *v, struct screen *s)
{
	view_draw(v, s);
	for (int i = 0; i < s->rows; i++) {
		if (strlen(buf_str(&s->line[i])) > (size_t)s->cols * 4)
			abort();
		for (const char *c = buf_str(&s->line[i]); *c; c++) {
			if ((uint8_t)*c < 0x20 || *c == 0x7f)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct screen s = { .rows = 24, .cols = 80 };
	static const int keys[] = { VIEW_TAB, VIEW_ENTER, VIEW_PAGE_DOWN, VIEW_DOWN, VIEW_UP, VIEW_RIGHT, VIEW_END,
				    'g',      VIEW_ENTER, VIEW_TAB,       '/',       'a',     VIEW_ENTER };
	struct view v;
	struct feed f;
	view_begin(&v, 0);
	for (uint64_t round = 1; round < 3; round++) {
		if (!feed_parse(&f, (const char *)data, size, NULL))
			view_take(&v, &f, round * 5000000000ull);
		feed_free(&f);
		show(&v, &s);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		view_key(&v, keys[i]);
		show(&v, &s);
	}
	view_free(&v);
	return 0;
}
