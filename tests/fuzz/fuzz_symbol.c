/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as the worker's input: an ELF file, in which 16 addresses of each code segment are looked up, or
 * otherwise a perf map, whose lines are also taken as names.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf/answer.h"
#include "dwarf/demangle.h"
#include "dwarf/perfmap.h"
#include "elf/elf.h"

#define ADDRESSES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void look_at(const struct symbol *s, int n)
{
	for (int i = 0; i < n; i++)
		sink += (s[i].name ? strlen(s[i].name) : 0) + (s[i].file ? strlen(s[i].file) : 0) + s[i].line;
}

static void ask(struct answerer *a, uint64_t low, uint64_t size)
{
	struct symbol symbols[SOURCE_DEPTH];
	for (uint64_t i = 0; i < ADDRESSES; i++)
		look_at(symbols, answerer_find(a, low + size / ADDRESSES * i, symbols));
}

static void as_elf(int fd)
{
	const struct elf_segment *seg;
	struct elf *e = elf_open(fd, "fuzz", NULL);
	struct answerer *a = e ? answerer_new(fd, SYMBOL_DEPTH_FULL, false, NULL, NULL) : NULL;
	size_t n = e ? elf_segments(e, &seg) : 0;
	for (size_t i = 0; a && i < n && i < 16; i++)
		if (seg[i].exec)
			ask(a, seg[i].vaddr, seg[i].memsz);
	answerer_free(a);
	elf_close(e);
}

static void as_perf_map(int fd)
{
	uint64_t pcs[ADDRESSES];
	struct symbol out[ADDRESSES];
	for (uint64_t i = 0; i < ADDRESSES; i++)
		pcs[i] = 0x1000 * i;
	perfmap_find(fd, pcs, ADDRESSES, out);
	look_at(out, ADDRESSES);
	for (size_t i = 0; i < ADDRESSES; i++) {
		free((void *)(uintptr_t)out[i].name);
		free((void *)(uintptr_t)out[i].file);
	}
}

static void as_names(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text;
	memcpy(text, data, size);
	text[size] = 0;
	for (char *name; (name = strsep(&rest, "\n"));) {
		struct buf out = { 0 };
		demangle(&out, name);
		sink += strlen(buf_str(&out));
		buf_free(&out);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size) {
		if (size >= 4 && !memcmp(data, "\177ELF", 4)) {
			as_elf(fd);
		} else {
			as_perf_map(fd);
			as_names(data, size);
		}
	}
	close(fd);
	return 0;
}
