/* SPDX-License-Identifier: Apache-2.0 */
/* Writes records (record.h): of stacks that libdw has unwound, by whoever knows registers, memory and the files mapped there. */
#ifndef ALYS_TESTS_BPFHOST_RECORD_WRITE_H
#define ALYS_TESTS_BPFHOST_RECORD_WRITE_H

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "bpfhost/record.h"
#include "unwind/unwind.h"

struct record {
	uint64_t ip, sp, fp, cfa;
	bool has_link; /* aarch64's */
	uint64_t link, pac_mask;
	const __u64 *ips;
	uint32_t n, end;
	const uint8_t *stack; /* from sp on */
	size_t stack_sz;
	/* The rows of the file that is mapped at an address, which the caller frees, and the address in the file; NULL = none. */
	struct unwind_table *(*rows_at)(const struct record *r, uint64_t addr, uint64_t *vaddr);
	const void *ctx;
};

/* Pages without rows (generated code) are omitted, as by the loader. */
static bool record_add_page(struct buf *out, const struct record *r, uint64_t page)
{
	uint64_t vaddr = 0;
	struct unwind_table *t = r->rows_at(r, page, &vaddr);
	uint64_t i = t ? (vaddr >> ALYS_PAGE_SHIFT) - t->page0 : 0;
	bool found = t && i < t->pages_cnt;
	if (found) {
		uint32_t n = t->pages[i + 1] - t->pages[i];
		buf_le(out, page, 8);
		buf_le(out, n, 4);
		buf_le(out, t->specs_cnt, 4);
		buf_add(out, t->rows + t->pages[i], n * sizeof(*t->rows));
		buf_add(out, t->specs, t->specs_cnt * sizeof(*t->specs));
	}
	unwind_free(t);
	return found;
}

static uint32_t record_add_pages(struct buf *out, const struct record *r)
{
	uint64_t seen[RECORD_PAGES];
	uint32_t seen_cnt = 0, added = 0;
	for (uint32_t i = 0; i < r->n && seen_cnt < RECORD_PAGES; i++) {
		uint64_t page = (i ? r->ips[i] - 1 : r->ips[0]) & ~4095ull;
		bool known = false;
		for (uint32_t k = 0; k < seen_cnt; k++)
			known |= seen[k] == page;
		if (known)
			continue;
		seen[seen_cnt++] = page;
		added += record_add_page(out, r, page);
	}
	return added;
}

/* Bytes of the stack up to the end of the last return address, or 0. */
static uint32_t record_stack_needed(const struct record *r)
{
	uint32_t needed = 0;
	for (uint32_t at = 0; at + 8 <= r->stack_sz && at < RECORD_STACK; at += 8) {
		uint64_t word;
		memcpy(&word, r->stack + at, 8);
		if ((word & ~r->pac_mask) == r->ips[r->n - 1])
			needed = at + 8;
	}
	return needed;
}

/* False if the stack is too long for a record, or if the code is no longer mapped. */
static bool record_write(const struct record *r, const char *path)
{
	struct buf out = { 0 }, pages = { 0 };
	uint32_t needed = record_stack_needed(r), pages_cnt = record_add_pages(&pages, r);
	buf_adds(&out, r->has_link ? RECORD_MAGIC_ARM64 : RECORD_MAGIC);
	buf_le(&out, r->ip, 8);
	buf_le(&out, r->sp, 8);
	buf_le(&out, r->fp, 8);
	buf_le(&out, r->cfa, 8);
	if (r->has_link) {
		buf_le(&out, r->link, 8);
		buf_le(&out, r->pac_mask, 8);
	}
	buf_le(&out, r->n, 4);
	buf_le(&out, r->end, 4);
	buf_add(&out, r->ips, r->n * 8ul);
	buf_le(&out, r->sp, 8);
	buf_le(&out, needed, 4);
	buf_add(&out, r->stack, needed);
	buf_le(&out, pages_cnt, 4);
	buf_add(&out, pages.data, pages.len);
	FILE *f = needed && pages_cnt ? fopen(path, "wb") : NULL;
	bool ok = f && fwrite(out.data, out.len, 1, f) == 1;
	if (f)
		ok &= !fclose(f);
	buf_free(&out);
	buf_free(&pages);
	return ok;
}

#endif
