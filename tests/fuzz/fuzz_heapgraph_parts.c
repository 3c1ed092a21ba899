/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a graph from the parts of a dump, each preceded by its length in four bytes, and renders it in every format. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heapgraph/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const struct graph *g, const struct types *t, const struct fields *f)
{
	static const uint32_t ids[] = { 0, 1, 13 };
	struct buf out = { 0 };
	struct picture p = { .graph = g,
			     .types = t,
			     .fields = f,
			     .ids = ids,
			     .ids_cnt = 3,
			     .type = "C",
			     .object = GRAPH_NONE,
			     .levels = 3,
			     .limit = 10,
			     .paths = true };
	picture_json(&p, &out);
	picture_mermaid(&p, &out);
	picture_sizes(&p, &out);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct graph g = { 0 };
	struct types t = { 0 };
	struct fields f = { 0 };
	struct parts_reader r = { .graph = &g, .types = &t, .fields = &f, .max_bytes = 16 << 20 };
	int rc = types_begin(&t);
	while (!rc && size > 4) {
		uint32_t n;
		memcpy(&n, data, 4);
		data += 4, size -= 4;
		n = n < size ? n : (uint32_t)size;
		rc = parts_take(&r, data, n);
		data += n, size -= n;
	}
	if (!rc && !parts_end(&r))
		draw(&g, &t, &f);
	graph_free(&g);
	types_free(&t);
	fields_free(&f);
	parts_reader_free(&r);
	return 0;
}
