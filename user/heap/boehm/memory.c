/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/memory: see memory.h. */
#include "boehm/memory.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "access/rights.h"

/* Number of bytes read, from the first range on, or -errno. */
static int64_t read_some(struct memory *m, const struct rights_range *r, size_t cnt, uint8_t *out, size_t total)
{
	m->reads++;
	m->bytes += total;
	if (m->source)
		return m->source->read(m->source->ctx, r->addr, out, r->n);
	return rights_memory(m->through ?: m->tgid, r, cnt, out);
}

int memory_read(struct memory *m, uint64_t addr, void *out, size_t n)
{
	struct rights_range r = { addr, n };
	if (!n)
		return 0;
	int64_t got = read_some(m, &r, 1, out, n);
	return got < 0 ? (int)got : (size_t)got == n ? 0 : -EFAULT;
}

/* Number of ranges for one system call; a test's source takes one at a time. */
static size_t batch(const struct memory *m, const struct rights_range *r, size_t cnt, size_t *total)
{
	size_t n = 0;
	*total = 0;
	while (n < cnt && n < (m->source ? 1 : IOV_MAX))
		*total += r[n++].n;
	return n;
}

/* Number of ranges completely within the first `got` bytes; *bytes is their total size. */
static size_t whole_ranges(const struct rights_range *r, size_t cnt, size_t got, size_t *bytes)
{
	size_t n = 0;
	*bytes = 0;
	while (n < cnt && *bytes + r[n].n <= got)
		*bytes += r[n++].n;
	return n;
}

int memory_read_ranges(struct memory *m, const struct rights_range *r, size_t cnt, void *out, size_t *unreadable)
{
	uint8_t *at = out;
	size_t bad = 0;
	while (cnt) {
		size_t total, bytes, n = batch(m, r, cnt, &total);
		int64_t got = read_some(m, r, n, at, total);
		if (got < 0 && got != -EFAULT)
			return (int)got;
		size_t done = whole_ranges(r, n, got < 0 ? 0 : (size_t)got, &bytes);
		at += bytes;
		if (done < n) {
			memset(at, 0, r[done].n);
			at += r[done++].n;
			bad++;
		}
		r += done;
		cnt -= done;
	}
	if (unreadable)
		*unreadable = bad;
	return 0;
}

int memory_read_spread(struct memory *m, const struct rights_range *r, size_t cnt, uint64_t base, void *out, size_t *unreadable)
{
	static uint8_t packed[MEMORY_SPREAD];
	uint8_t *to = out;
	if (cnt == 1)
		return memory_read_ranges(m, r, 1, to + (r->addr - base), unreadable);
	int rc = memory_read_ranges(m, r, cnt, packed, unreadable);
	for (size_t i = 0, at = 0; i < cnt && !rc; at += r[i++].n)
		memcpy(to + (r[i].addr - base), packed + at, r[i].n);
	return rc;
}
