/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as an ELF file, through all queries. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static int touch(void *ctx, const struct elf_symbol *s)
{
	const struct elf *e = ctx;
	const uint8_t *p = elf_bytes(e, s->vaddr, s->size);
	sink += (uint64_t)s->name[0] + (p && s->size ? p[s->size - 1] : 0);
	elf_plt_target(e, s->vaddr);
	return 0;
}

static void ask(const struct elf *e)
{
	static const char *const sections[] = { ".text", ".plt", ".dynamic", ".eh_frame" };
	const struct elf_segment *seg;
	uint8_t id[20];
	size_t n = elf_segments(e, &seg), sz;
	uint64_t at;
	sink += elf_build_id(e, id, sizeof(id)) + elf_is_pie(e);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const uint8_t *p = elf_section(e, sections[i], &sz, &at);
		sink += p && sz ? p[sz - 1] : 0;
		for (size_t k = 0; p && k < sz && k < 4096; k += 16)
			sink += elf_plt_target(e, at + k) ? 1 : elf_first_target(e, at + k);
	}
	for (size_t i = 0; i < n; i++)
		sink += elf_offset_of(e, seg[i].vaddr, &at) +
			elf_mapped_vaddr(e, &(struct elf_mapped){ seg[i].offset, seg[i].filesz, true }, &at);
	elf_each_symbol(e, touch, (void *)(uintptr_t)e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf *e = NULL;
	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size)
		e = elf_open(fd, "fuzz", NULL);
	if (e)
		ask(e);
	elf_close(e);
	close(fd);
	return 0;
}
