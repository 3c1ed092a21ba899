/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A synthetic collected heap: the memory of a "process" with the collector's variables, block index, headers and blocks.
 * Allows states that a real program reaches rarely or only with a large heap.
 *
 *   BASE + 0x00400 mark stack, its size, the mark state    + 0x00800 cycle counter    + 0x01000 upper table
 *        + 0x06000 empty lower table   + 0x09000 lower table   + 0x10000 headers   + 0x40000 blocks
 */
#ifndef TESTS_HEAPIMAGE_H
#define TESTS_HEAPIMAGE_H

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boehm/detection.h"
#include "boehm/heap.h"
#include "elf/arch.h"

#define IMAGE_BASE 0x7f4000000000ull /* aligned to 4 MiB */
#define IMAGE_SZ (1u << 20)
#define IMAGE_STACK (IMAGE_BASE + 0x400)
#define IMAGE_STATE (IMAGE_STACK + 0x38)
#define IMAGE_GC_NO (IMAGE_BASE + 0x800)
#define IMAGE_TOP (IMAGE_BASE + 0x1000)
#define IMAGE_NILS (IMAGE_BASE + 0x6000)
#define IMAGE_BOTTOM (IMAGE_BASE + 0x9000)
#define IMAGE_HEADERS (IMAGE_BASE + 0x10000)
#define IMAGE_BLOCKS (IMAGE_BASE + 0x40000)
#define IMAGE_HEADER_SZ 0x148
#define IMAGE_CYCLE 7

struct heapimage {
	uint8_t *bytes;
	struct memory memory;
	struct memory_source source;
	struct space space;
	struct elf *elf;
	int fd;
	enum layout_marks marks;
	uint64_t next; /* address of the next block */
	uint32_t headers;
	uint64_t reads, idle_after; /* the mark state becomes idle after this many reads; 0 = never */
};

static inline uint8_t *image_at(struct heapimage *im, uint64_t addr)
{
	return im->bytes + (addr - IMAGE_BASE);
}

static inline void image_put(struct heapimage *im, uint64_t addr, uint64_t value, size_t n)
{
	if (addr >= IMAGE_BASE && addr - IMAGE_BASE <= IMAGE_SZ - n)
		memcpy(image_at(im, addr), &value, n);
}

static inline int64_t image_read(void *ctx, uint64_t addr, void *out, size_t n)
{
	struct heapimage *im = ctx;
	if (im->idle_after && ++im->reads == im->idle_after)
		image_put(im, IMAGE_STATE, 0, 4);
	if (addr < IMAGE_BASE || addr >= IMAGE_BASE + IMAGE_SZ)
		return -EFAULT;
	size_t left = IMAGE_BASE + IMAGE_SZ - addr;
	n = n < left ? n : left;
	memcpy(out, image_at(im, addr), n);
	return (int64_t)n;
}

/* An ELF file with two segments: code without contents, and the image as data. */
static inline struct elf *image_elf(int *fd)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr code, data;
	} file = {
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = elf_arch.machine,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 2 },
		.code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(file), .p_memsz = sizeof(file) },
		.data = { .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 0x10000, .p_memsz = IMAGE_SZ },
	};
	*fd = memfd_create("image", MFD_CLOEXEC);
	if (*fd < 0 || write(*fd, &file, sizeof(file)) != sizeof(file))
		return NULL;
	return elf_open(*fd, "image", NULL);
}

#define IMAGE_BIAS (IMAGE_BASE - 0x10000)

static inline void image_begin(struct heapimage *im, enum layout_marks marks)
{
	struct space_region r = {
		.start = IMAGE_BASE, .end = IMAGE_BASE + IMAGE_SZ, .readable = true, .writable = true, .path = ""
	};
	uint64_t stack[] = { IMAGE_BASE + 0xf0000, IMAGE_BASE + 0xf0000 + 65536, IMAGE_BASE + 0xf0000 - 16, 1, 2, 3, 4096, 0 };
	*im = (struct heapimage){ .bytes = calloc(1, IMAGE_SZ), .marks = marks, .next = IMAGE_BLOCKS };
	im->source = (struct memory_source){ image_read, im };
	im->memory.source = &im->source;
	im->elf = image_elf(&im->fd);
	space_add(&im->space, &r);
	memcpy(image_at(im, IMAGE_STACK), stack, sizeof(stack));
	image_put(im, IMAGE_GC_NO, IMAGE_CYCLE, 8);
	for (uint64_t i = 0; i < 2048; i++)
		image_put(im, IMAGE_TOP + i * 8, IMAGE_NILS, 8);
	image_put(im, IMAGE_TOP + (IMAGE_BASE >> 22) % 2048 * 8, IMAGE_BOTTOM, 8);
	image_put(im, IMAGE_BOTTOM + 0x2010, IMAGE_BASE >> 22, 8);
	image_put(im, IMAGE_BOTTOM + 0x2018, IMAGE_NILS, 8);
}

static inline void image_end(struct heapimage *im)
{
	elf_close(im->elf);
	close(im->fd);
	space_free(&im->space);
	free(im->bytes);
}

static inline uint64_t image_header(const struct heapimage *im, uint32_t i)
{
	(void)im;
	return IMAGE_HEADERS + (uint64_t)i * IMAGE_HEADER_SZ;
}

static inline uint64_t image_slot(uint64_t block)
{
	return IMAGE_BOTTOM + (block >> 12) % 1024 * 8;
}

/* Sets mark i of a header: an object's, or the one after the last object. */
static inline void image_mark(struct heapimage *im, uint64_t header, uint32_t i)
{
	bool each = im->marks >= LAYOUT_MARK_OBJECTS, bits = im->marks % 2;
	uint64_t at = header + (each ? 0x38 : 0x40) + (bits ? i / 8 : i);
	image_put(im, at, bits ? *image_at(im, at) | 1u << i % 8 : 1, 1);
}

/* Adds a block of objects of this size; bits of `live` mark the first 64. Returns its address. */
static inline uint64_t image_block(struct heapimage *im, uint64_t size, uint8_t kind, uint64_t live)
{
	uint64_t block = im->next, header = image_header(im, im->headers++), pages = (size + 4095) / 4096;
	uint32_t objects = size <= 2048 ? (uint32_t)(4096 / size) : 1;
	bool each = im->marks >= LAYOUT_MARK_OBJECTS;
	uint32_t step = each || objects == 1 ? 1 : (uint32_t)(size / 16), n = 0;
	image_put(im, header + 0x10, block, 8);
	image_put(im, header + 0x18, kind, 1);
	image_put(im, header + 0x1a, IMAGE_CYCLE, 2);
	image_put(im, header + 0x20, size, 8);
	for (uint32_t i = 0; i < objects && i < 64; i++) {
		if (live >> i & 1) {
			image_mark(im, header, i * step);
			n++;
		}
	}
	image_mark(im, header, objects == 1 && !each ? 256 : objects * step);
	image_put(im, header + (each ? 0x30 : 0x38), n, 8);
	for (uint64_t i = 0; i < pages; i++)
		image_put(im, image_slot(block + i * 4096), i ? i : header, 8);
	im->next += pages * 4096;
	return block;
}

static inline uint64_t image_gap(struct heapimage *im, uint64_t bytes, bool unmapped)
{
	uint64_t block = im->next, header = image_header(im, im->headers++);
	image_put(im, header + 0x19, unmapped ? 6 : 4, 1);
	image_put(im, header + 0x20, bytes, 8);
	image_put(im, image_slot(block), header, 8);
	im->next += bytes;
	return block;
}

static inline int image_layout(struct heapimage *im, struct layout *out, struct err *err)
{
	int rc = layout_find(&im->memory, &(struct detection_place){ &im->space, im->elf, IMAGE_BIAS, "image" }, out, err);
	/* Set directly: the image has no symbols. */
	out->gc_no = rc ? 0 : IMAGE_GC_NO;
	return rc;
}

#endif
