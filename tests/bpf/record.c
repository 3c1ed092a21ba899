/* SPDX-License-Identifier: Apache-2.0 */
/* See record.h. */
#include "record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "bpfhost/record.h"
#include "unwind/unwind.h"

/* Opens the file that is mapped at an address; *vaddr is the address in the file. */
static struct elf *file_at(uint32_t tgid, uint64_t addr, int *fd, uint64_t *vaddr)
{
	char path[64], line[1024];
	unsigned long start, end, offset;
	char perms[8];
	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	FILE *f = fopen(path, "r");
	struct elf *e = NULL;
	while (f && !e && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, perms, &offset) != 4 || addr < start || addr >= end)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", tgid, start, end);
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		e = *fd >= 0 ? elf_open(*fd, path, NULL) : NULL;
		if (!e)
			break;
		const struct elf_mapped part = { offset, end - start, perms[2] == 'x' };
		if (elf_mapped_vaddr(e, &part, vaddr))
			*vaddr += addr - start;
	}
	if (f)
		fclose(f);
	return e;
}

/* Adds the rows of one page. Pages without rows (generated code) are omitted, as by the loader. */
static bool add_page(struct buf *out, uint32_t tgid, uint64_t page)
{
	int fd;
	uint64_t vaddr = 0;
	struct elf *e = file_at(tgid, page, &fd, &vaddr);
	struct unwind_table *t = e ? unwind_compile(e, NULL) : NULL;
	uint64_t i = t ? (vaddr >> ALYS_PAGE_SHIFT) - t->page0 : 0;
	bool found = t && i < t->pages_cnt;
	if (found) {
		uint32_t n = t->pages[i + 1] - t->pages[i];
		buf_le(out, page, 8);
		buf_le(out, n, 4);
		buf_le(out, t->specs_cnt, 4);
		buf_add(out, t->rows + t->pages[i], n * sizeof(uint32_t));
		buf_add(out, t->specs, t->specs_cnt * sizeof(*t->specs));
	}
	unwind_free(t);
	if (e) {
		elf_close(e);
		close(fd);
	}
	return found;
}

static uint32_t add_pages(struct buf *out, const struct snap *s)
{
	uint64_t seen[RECORD_PAGES];
	uint32_t seen_cnt = 0, added = 0;
	for (uint32_t i = 0; i < s->n && seen_cnt < RECORD_PAGES; i++) {
		uint64_t page = (i ? s->ips[i] - 1 : s->ips[0]) & ~4095ull;
		bool known = false;
		for (uint32_t k = 0; k < seen_cnt; k++)
			known |= seen[k] == page;
		if (known)
			continue;
		seen[seen_cnt++] = page;
		added += add_page(out, s->tgid, page);
	}
	return added;
}

/* Bytes of the stack up to the end of the last return address, or 0. */
static uint32_t stack_needed(const struct snap *s)
{
	const uint8_t *bytes = (const uint8_t *)s->stack;
	uint32_t from = (uint32_t)(s->regs[SNAP_SP] - s->stack_at), needed = 0;
	for (uint32_t at = from; at + 8 <= s->pages * 4096u && at < from + RECORD_STACK; at += 8) {
		uint64_t word;
		memcpy(&word, bytes + at, 8);
		if (word == s->ips[s->n - 1])
			needed = at + 8 - from;
	}
	return needed;
}

bool record_stack(const struct snap *s, uint64_t cfa, const char *path)
{
	struct buf out = { 0 }, pages = { 0 };
	uint32_t needed = stack_needed(s);
	if (!needed)
		return false;
	buf_adds(&out, RECORD_MAGIC);
	buf_le(&out, s->regs[SNAP_IP], 8);
	buf_le(&out, s->regs[SNAP_SP], 8);
	buf_le(&out, s->regs[SNAP_FP], 8);
	buf_le(&out, cfa, 8);
	buf_le(&out, s->n, 4);
	buf_le(&out, s->end, 4);
	buf_add(&out, s->ips, s->n * 8);
	buf_le(&out, s->regs[SNAP_SP], 8);
	buf_le(&out, needed, 4);
	buf_add(&out, (const uint8_t *)s->stack + (s->regs[SNAP_SP] - s->stack_at), needed);
	uint32_t n = add_pages(&pages, s);
	buf_le(&out, n, 4);
	buf_add(&out, pages.data, pages.len);
	FILE *f = n ? fopen(path, "w") : NULL; /* 0 if the process has exited */
	bool ok = f && fwrite(out.data, out.len, 1, f) == 1;
	if (f)
		fclose(f);
	buf_free(&out);
	buf_free(&pages);
	return ok;
}
