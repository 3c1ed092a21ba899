/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/malloc_chunks: see malloc_chunks.h. */
#include "glibc/malloc_chunks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sorted.h"

void glibc_heap_odd(struct glibc_heap *h, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	if (!h->odd++)
		vsnprintf(h->first_odd.text, sizeof(h->first_odd.text), fmt, args);
	va_end(args);
}

struct glibc_chunk *glibc_chunk_at(const struct glibc_heap *h, uint64_t addr)
{
	size_t n = SORTED_UNTIL(h->chunks_cnt, i, h->chunks[i].addr < addr);
	return n < h->chunks_cnt && h->chunks[n].addr == addr ? &h->chunks[n] : NULL;
}

void glibc_heap_free(struct glibc_heap *h)
{
	free(h->arenas);
	free(h->pieces);
	free(h->chunks);
	free(h->mapped);
	free(h->caches);
	*h = (struct glibc_heap){ 0 };
}
