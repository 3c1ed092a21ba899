/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/memory: see memory.h. */
#include "boehm/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
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

/* Number of ranges completely within the first `got` bytes; *bytes is their total size. */
static size_t whole_ranges(const struct rights_range *r, size_t cnt, size_t got, size_t *bytes)
{
	size_t n = 0;
	*bytes = 0;
	while (n < cnt && *bytes + r[n].n <= got)
		*bytes += r[n++].n;
	return n;
}

/* --- reading ahead ------------------------------------------------------------------------------ */

static void note_used(struct memory_ahead *a, const struct rights_range *r, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		a->many |= a->used_cnt == MEMORY_AHEAD_RANGES || r[i].n > MEMORY_AHEAD_BYTES - a->used_bytes;
		if (a->many)
			return;
		a->used[a->used_cnt++] = r[i];
		a->used_bytes += r[i].n;
	}
}

/* Bytes of a range that was read ahead, or NULL. */
static const uint8_t *known_bytes(const struct memory_ahead *a, const struct rights_range *r)
{
	const uint8_t *at = a->bytes;
	for (size_t i = 0; i < a->known_cnt; at += a->known[i++].n) {
		if (a->known[i].addr == r->addr && a->known[i].n == r->n)
			return at;
	}
	return NULL;
}

/* False unless all of the ranges were read ahead. */
static bool take_ahead(struct memory *m, const struct rights_range *r, size_t cnt, uint8_t *out)
{
	if (!m->ahead)
		return false;
	note_used(m->ahead, r, cnt);
	for (size_t i = 0; i < cnt; out += r[i++].n) {
		const uint8_t *known = known_bytes(m->ahead, &r[i]);
		if (!known)
			return false;
		memcpy(out, known, r[i].n);
	}
	return true;
}

/* What the last reading used becomes what this one knows; false: nothing, or no memory for it. */
static bool expect_the_same(struct memory_ahead *a, uint32_t tgid)
{
	bool same = a->tgid == tgid && !a->many && a->used_cnt;
	a->tgid = tgid;
	a->known_cnt = same ? a->used_cnt : 0;
	memcpy(a->known, a->used, a->known_cnt * sizeof(*a->known));
	a->used_cnt = a->used_bytes = 0;
	a->many = false;
	a->bytes = a->bytes ?: malloc(MEMORY_AHEAD_BYTES);
	return same && a->bytes;
}

void memory_ahead_begin(struct memory *m, struct memory_ahead *a)
{
	size_t total = a->used_bytes, read;
	int64_t got = -ENODATA;
	if (m->source)
		return;
	if (expect_the_same(a, m->tgid))
		got = read_some(m, a->known, a->known_cnt, a->bytes, total);
	a->known_cnt = whole_ranges(a->known, a->known_cnt, got > 0 ? (size_t)got : 0, &read);
	m->ahead = a;
}

void memory_ahead_free(struct memory_ahead *a)
{
	free(a->bytes);
	*a = (struct memory_ahead){ 0 };
}

/* --- reading ------------------------------------------------------------------------------------ */

int memory_read(struct memory *m, uint64_t addr, void *out, size_t n)
{
	struct rights_range r = { addr, n };
	if (!n || take_ahead(m, &r, 1, out))
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

int memory_read_ranges(struct memory *m, const struct rights_range *r, size_t cnt, void *out, size_t *unreadable)
{
	uint8_t *at = out;
	size_t bad = 0;
	if (take_ahead(m, r, cnt, out))
		cnt = 0;
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
