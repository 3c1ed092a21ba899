/* SPDX-License-Identifier: Apache-2.0 */
/* elf/file: headers, segments, sections and bytes; see elf.h. Names are in names.c. */
#include "elf/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/arch.h"

#define SECTIONS_MAX (1u << 16)
#define SEGMENTS_MAX (65536 / sizeof(Elf64_Phdr)) /* the kernel runs no program with more */
#define NOTES_MAX (64ull << 10)
#define SYMBOLS_MAX (8ull << 20) /* Chromium with all its names has 3 million */
#define PAGE_SZ 4096ull
/* Bytes of unwind entries per byte of code: a tenth is usual; a program of tiny functions has as much of both. */
#define FRAMES_PER_TEXT 4

static bool read_at(const struct elf *e, uint64_t offset, void *out, size_t n)
{
	const uint8_t *p = image_at(&e->cache->image, offset, n);
	if (p)
		memcpy(out, p, n);
	return p;
}

bool elf_section_header(const struct elf *e, uint32_t index, Elf64_Shdr *out)
{
	return index < e->shnum && read_at(e, e->shoff + index * sizeof(*out), out, sizeof(*out));
}

static uint64_t text_size(const struct elf *e)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < e->segments_cnt; i++)
		sum += e->segments[i].exec ? e->segments[i].filesz : 0;
	return sum;
}

/* Maximum size of a section of this kind. */
static uint64_t most_of(const struct elf *e, const Elf64_Shdr *sh)
{
	switch (sh->sh_type) {
	case SHT_NOTE:
	case SHT_DYNAMIC: return NOTES_MAX;
	case SHT_SYMTAB:
	case SHT_DYNSYM: return SYMBOLS_MAX * sizeof(Elf64_Sym);
	case SHT_GNU_versym: return SYMBOLS_MAX * sizeof(uint16_t);
	case SHT_X86_64_UNWIND: return PAGE_SZ + text_size(e) * FRAMES_PER_TEXT;
	default: return UINT64_MAX; /* limited by image.c only */
	}
}

const uint8_t *elf_section_bytes(const struct elf *e, const Elf64_Shdr *sh)
{
	if (sh->sh_type == SHT_NOBITS || sh->sh_type == SHT_NULL || sh->sh_flags & SHF_COMPRESSED)
		return NULL;
	if (sh->sh_size > most_of(e, sh)) {
		e->cache->image.refusal = e->cache->image.refusal ?: IMAGE_TOO_LARGE;
		return NULL;
	}
	return sh->sh_size ? image_at(&e->cache->image, sh->sh_offset, sh->sh_size) : NULL;
}

bool elf_section_find(const struct elf *e, const char *name, Elf64_Shdr *out)
{
	Elf64_Shdr strtab;
	const uint8_t *names = NULL;
	size_t n = strlen(name) + 1;
	if (elf_section_header(e, e->shstrndx, &strtab))
		names = elf_section_bytes(e, &strtab);
	if (!names)
		return false;
	for (uint32_t i = 1; elf_section_header(e, i, out); i++)
		if (out->sh_name < strtab.sh_size && n <= strtab.sh_size - out->sh_name && !memcmp(names + out->sh_name, name, n))
			return true;
	return false;
}

bool elf_has_section(const struct elf *e, const char *name)
{
	Elf64_Shdr sh;
	return elf_section_find(e, name, &sh);
}

const uint8_t *elf_section(const struct elf *e, const char *name, size_t *size, uint64_t *vaddr)
{
	Elf64_Shdr sh;
	const uint8_t *bytes = NULL;
	if (elf_section_find(e, name, &sh)) {
		if (!strcmp(name, ".eh_frame"))
			sh.sh_type = SHT_X86_64_UNWIND; /* most linkers write PROGBITS */
		bytes = elf_section_bytes(e, &sh);
	}
	if (bytes && size)
		*size = sh.sh_size;
	if (bytes && vaddr)
		*vaddr = sh.sh_addr;
	return bytes;
}

static size_t padded(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Takes the build id out of a run of notes. */
static void take_build_id(struct elf *e, const uint8_t *notes, size_t n, uint64_t align)
{
	struct cursor c = cursor_over(notes, n);
	align = align == 8 ? 8 : 4;
	while (!e->build_id_sz && cursor_left(&c)) {
		size_t namesz = cursor_le(&c, 4), descsz = cursor_le(&c, 4);
		uint32_t type = (uint32_t)cursor_le(&c, 4);
		const uint8_t *name = cursor_bytes(&c, padded(12 + namesz, align) - 12);
		const uint8_t *desc = cursor_bytes(&c, descsz);
		size_t gap = padded(descsz, align) - descsz;
		if (c.bad)
			return;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz <= sizeof(e->build_id)) {
			memcpy(e->build_id, desc, descsz);
			e->build_id_sz = descsz;
		}
		cursor_bytes(&c, gap < cursor_left(&c) ? gap : cursor_left(&c));
	}
}

static int take_segment(struct elf *e, const Elf64_Phdr *ph)
{
	if (ph->p_type == PT_NOTE && !e->build_id_sz) {
		const uint8_t *notes = ph->p_filesz > NOTES_MAX ? NULL : image_at(&e->cache->image, ph->p_offset, ph->p_filesz);
		if (notes)
			take_build_id(e, notes, ph->p_filesz, ph->p_align);
	}
	if (ph->p_type == PT_GNU_EH_FRAME) {
		e->eh_frame_hdr = ph->p_vaddr;
		e->eh_frame_hdr_sz = ph->p_filesz;
	}
	if (ph->p_type != PT_LOAD || ph->p_vaddr + ph->p_memsz < ph->p_vaddr || ph->p_offset + ph->p_filesz < ph->p_offset ||
	    ph->p_filesz > ph->p_memsz)
		return 0;
	struct elf_segment *s = VEC_PUSH(e, segments);
	if (!s)
		return -ENOMEM;
	*s = (struct elf_segment){ .vaddr = ph->p_vaddr,
				   .offset = ph->p_offset,
				   .filesz = ph->p_filesz,
				   .memsz = ph->p_memsz,
				   .exec = ph->p_flags & PF_X };
	return 0;
}

static int read_segments(struct elf *e, const Elf64_Ehdr *eh, const Elf64_Shdr *first)
{
	uint32_t n = eh->e_phnum == PN_XNUM ? first->sh_info : eh->e_phnum;
	if (n > SEGMENTS_MAX || (n && eh->e_phentsize != sizeof(Elf64_Phdr)))
		return -ENOEXEC;
	for (uint32_t i = 0; i < n; i++) {
		Elf64_Phdr ph;
		if (!read_at(e, eh->e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return -ENOEXEC;
		int rc = take_segment(e, &ph);
		if (rc)
			return rc;
	}
	return 0;
}

/* Section 0 holds the counts that do not fit into the header's 16 bits. */
static void find_sections(struct elf *e, const Elf64_Ehdr *eh, Elf64_Shdr *first)
{
	memset(first, 0, sizeof(*first));
	if (!eh->e_shoff || eh->e_shentsize != sizeof(*first) || !read_at(e, eh->e_shoff, first, sizeof(*first)))
		return;
	uint64_t n = eh->e_shnum ? eh->e_shnum : first->sh_size;
	if (n > SECTIONS_MAX)
		return;
	e->shoff = eh->e_shoff;
	e->shnum = (uint32_t)n;
	e->shstrndx = eh->e_shstrndx == SHN_XINDEX ? first->sh_link : eh->e_shstrndx;
}

static int read_headers(struct elf *e)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first, note;
	if (!read_at(e, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_machine != elf_arch.machine)
		return -ENOEXEC;
	e->pie = eh.e_type == ET_DYN;
	e->entry = eh.e_entry;
	find_sections(e, &eh, &first);
	int rc = read_segments(e, &eh, &first);
	if (!rc && !e->build_id_sz && elf_section_find(e, ".note.gnu.build-id", &note)) {
		const uint8_t *notes = elf_section_bytes(e, &note);
		if (notes)
			take_build_id(e, notes, note.sh_size, note.sh_addralign);
	}
	return rc;
}

static const char *reason(int rc)
{
	return rc == -ENOEXEC ? elf_arch.whole : strerror(-rc);
}

/* From the bytes if there are any, otherwise from the file. */
static struct elf *open_either(const void *bytes, size_t n, int fd, const char *name, struct err *err)
{
	struct elf *e = calloc(1, sizeof(*e));
	int rc = -ENOMEM;
	if (e && (e->cache = calloc(1, sizeof(*e->cache))))
		rc = bytes ? image_of_bytes(&e->cache->image, bytes, n) : image_open(&e->cache->image, fd);
	if (!rc)
		rc = read_headers(e);
	if (!rc)
		return e;
	elf_close(e);
	err_set(err, -rc, "%s: %s", name, reason(rc));
	return NULL;
}

struct elf *elf_open(int fd, const char *name, struct err *err)
{
	return open_either(NULL, 0, fd, name, err);
}

struct elf *elf_open_bytes(const void *bytes, size_t n, const char *name, struct err *err)
{
	return open_either(bytes, n, -1, name, err);
}

static void free_texts(struct map *m)
{
	const struct map_slot *s;
	for (size_t i = 0; (s = map_next(m, &i));)
		free((void *)(uintptr_t)s->value);
	map_free(m);
}

void elf_close(struct elf *e)
{
	if (!e)
		return;
	if (e->cache) {
		free_texts(&e->cache->names);
		free_texts(&e->cache->joined);
		map_free(&e->cache->versions);
		map_free(&e->cache->targets);
		map_free(&e->cache->resolvers);
		image_close(&e->cache->image);
	}
	free(e->cache);
	free(e->segments);
	free(e);
}

const char *elf_refusal(const struct elf *e)
{
	static const char *const words[] = {
		[IMAGE_TOO_LARGE] = "a part of it is larger than such a part can be",
		[IMAGE_HOLES] = "a part of it is nothing but holes",
	};
	return words[e->cache->image.refusal];
}

size_t elf_build_id(const struct elf *e, uint8_t *out, size_t cap)
{
	size_t n = e->build_id_sz < cap ? e->build_id_sz : cap;
	memcpy(out, e->build_id, n);
	return n;
}

size_t elf_segments(const struct elf *e, const struct elf_segment **out)
{
	*out = e->segments;
	return e->segments_cnt;
}

const uint8_t *elf_eh_frame_hdr(const struct elf *e, size_t *size, uint64_t *vaddr)
{
	*size = e->eh_frame_hdr_sz;
	*vaddr = e->eh_frame_hdr;
	return *size ? elf_bytes(e, *vaddr, *size) : NULL;
}

uint64_t elf_entry(const struct elf *e)
{
	return e->entry;
}

bool elf_is_pie(const struct elf *e)
{
	return e->pie;
}

bool elf_is_program(const struct elf *e)
{
	size_t size = 0;
	const uint8_t *at = elf_section(e, ".dynamic", &size, NULL);
	bool yes = !elf_is_pie(e);
	for (Elf64_Dyn d; at && size >= sizeof(d) && !yes; at += sizeof(d), size -= sizeof(d)) {
		memcpy(&d, at, sizeof(d));
		yes = d.d_tag == DT_FLAGS_1 && (d.d_un.d_val & DF_1_PIE);
	}
	return yes;
}

const uint8_t *elf_bytes(const struct elf *e, uint64_t vaddr, size_t n)
{
	for (size_t i = 0; i < e->segments_cnt; i++) {
		const struct elf_segment *s = &e->segments[i];
		uint64_t in = vaddr - s->vaddr;
		if (vaddr >= s->vaddr && in < s->filesz && n <= s->filesz - in)
			return image_at(&e->cache->image, s->offset + in, n);
	}
	return NULL;
}

bool elf_offset_of(const struct elf *e, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < e->segments_cnt; i++) {
		const struct elf_segment *s = &e->segments[i];
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*offset = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

static uint64_t page_of(uint64_t offset)
{
	return offset & ~(PAGE_SZ - 1);
}

/* How well a mapping fits a segment: 0 not at all. Pages are mapped, segments need not begin at one. */
static unsigned int fit(const struct elf_segment *s, const struct elf_mapped *m)
{
	uint64_t first = page_of(s->offset), end = page_of(s->offset + s->filesz + PAGE_SZ - 1);
	if (!s->filesz || m->offset < first || m->offset >= end)
		return 0;
	return 1 + 4 * (s->exec == m->exec) + 2 * (m->offset == first) + (m->size == end - m->offset);
}

bool elf_mapped_vaddr(const struct elf *e, const struct elf_mapped *m, uint64_t *vaddr)
{
	const struct elf_segment *best = NULL;
	for (size_t i = 0; i < e->segments_cnt; i++) {
		const struct elf_segment *s = &e->segments[i];
		if (fit(s, m) > (best ? fit(best, m) : 0))
			best = s;
	}
	if (best)
		*vaddr = best->vaddr - best->offset + m->offset;
	return best != NULL;
}
