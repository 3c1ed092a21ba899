/* SPDX-License-Identifier: Apache-2.0 */
/* access/pages: see pages.h. */
#include "access/pages.h"

#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst */
#define RESIDENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define OWN (1ull << 56)

void pages_open(struct pages *p, uint32_t tid)
{
	p->fd = rights_fact(tid, FACT_PAGEMAP);
	p->first = p->cnt = 0;
	p->own = false;
}

void pages_close(struct pages *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void keep_from(struct pages *p, uint64_t page)
{
	ssize_t got = pread(p->fd, p->kept, sizeof(p->kept), (off_t)(page * sizeof(*p->kept)));
	p->first = page;
	p->cnt = got > 0 ? (size_t)got / sizeof(*p->kept) : 0;
}

enum page_is pages_at(struct pages *p, uint64_t addr)
{
	uint64_t page = addr / PAGE_BYTES;
	if (p->fd < 0)
		return PAGE_RESIDENT;
	if (page < p->first || page - p->first >= p->cnt)
		keep_from(p, page);
	uint64_t is = p->cnt ? p->kept[page - p->first] : 0;
	if (p->own && is & RESIDENT && !(is & OWN))
		return PAGE_ABSENT;
	return is & RESIDENT ? PAGE_RESIDENT : is & SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT;
}

static uint64_t next_page(uint64_t addr, uint64_t end)
{
	uint64_t next = (addr / PAGE_BYTES + 1) * PAGE_BYTES;
	return next < end ? next : end;
}

size_t pages_used(struct pages *p, uint64_t *at, uint64_t end, struct rights_range *pieces, size_t most)
{
	size_t n = 0;
	bool before = false; /* the page before this one is the end of the last piece */
	while (*at < end) {
		uint64_t next = next_page(*at, end);
		bool used = pages_at(p, *at) != PAGE_ABSENT;
		if (used && !before && n == most)
			break;
		if (used && !before)
			pieces[n++] = (struct rights_range){ *at, 0 };
		if (used)
			pieces[n - 1].n += next - *at;
		before = used;
		*at = next;
	}
	return n;
}

uint64_t pages_resident(struct pages *p, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;
	for (uint64_t at = start, next; at < end; at = next) {
		next = next_page(at, end);
		sum += pages_at(p, at) == PAGE_RESIDENT ? next - at : 0;
	}
	return sum;
}
