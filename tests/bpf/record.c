/* SPDX-License-Identifier: Apache-2.0 */
/* See record.h. */
#include "record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpfhost/record_write.h"

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

static struct unwind_table *rows_at(const struct record *r, uint64_t addr, uint64_t *vaddr)
{
	int fd;
	const struct snap *s = r->ctx;
	struct elf *e = file_at(s->tgid, addr, &fd, vaddr);
	struct unwind_table *t = e ? unwind_compile(e, NULL) : NULL;
	if (e) {
		elf_close(e);
		close(fd);
	}
	return t;
}

bool record_stack(const struct snap *s, uint64_t cfa, const char *path)
{
	uint64_t from = s->regs[SNAP_SP] - s->stack_at;
	const struct record r = {
		.ip = s->regs[SNAP_IP],
		.sp = s->regs[SNAP_SP],
		.fp = s->regs[SNAP_FP],
		.cfa = cfa,
		.ips = s->ips,
		.n = s->n,
		.end = s->end,
		.stack = (const uint8_t *)s->stack + from,
		.stack_sz = s->pages * 4096ul - from,
		.rows_at = rows_at,
		.ctx = s,
	};
	return record_write(&r, path);
}
