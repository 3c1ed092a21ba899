/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/debug: see debug.h. */
#include "dwarf/debug.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sandbox/jail.h"

#define CRC_SZ_MAX (2ull << 30)

/* Memory that libdw takes for the section: 0 if it is not compressed, since it is mapped then. */
static uint64_t unpacked_size(Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Chdr ch;
	if (!(sh->sh_flags & SHF_COMPRESSED))
		return 0;
	return gelf_getchdr(scn, &ch) ? ch.ch_size : UINT64_MAX;
}

/*
 * 0, -ENOENT: no DWARF, -E2BIG: it would take too much memory. .zdebug_ sections (before 2015) do not state their size
 * in the header, so files with them count as having no DWARF.
 */
static int look_for_debug(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;
	uint64_t sum = 0;
	uint64_t most = jail_memory() / 3 * 2; /* the rest is needed for libdw's own data */
	bool info = false;
	if (elf_getshdrstrndx(elf, &names))
		return -ENOENT;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		if (!strncmp(name, ".zdebug_", 8))
			return -ENOENT;
		if (strncmp(name, ".debug_", 7))
			continue;
		uint64_t size = unpacked_size(scn, &sh);
		if (size > most - sum)
			return -E2BIG;
		sum += size;
		info |= !strcmp(name, ".debug_info");
	}
	return info ? 0 : -ENOENT;
}

/*
 * libdw (0.188) reads strings up to a terminating zero, even beyond the section's end, so the section must end with
 * one. Called after libdw has decompressed sections.
 */
static bool texts_end(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (!name || (strcmp(name, ".debug_str") && strcmp(name, ".debug_line_str")))
			continue;
		const Elf_Data *d = elf_rawdata(scn, NULL);
		if (d && d->d_buf && d->d_size && ((const char *)d->d_buf)[d->d_size - 1])
			return false;
	}
	return true;
}

static void part_close(struct debug_part *p)
{
	dwarf_end(p->dwarf);
	elf_end(p->elf);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct debug_part){ .fd = -1 };
}

/*
 * Mapped, because debug information may be larger than the worker's memory limit. If the file is truncated meanwhile,
 * the worker gets SIGBUS, and the next worker finds less in the file.
 */
static int part_open(struct debug_part *p, int fd)
{
	elf_version(EV_CURRENT);
	p->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!p->elf || elf_kind(p->elf) != ELF_K_ELF)
		return -ENOENT;
	int rc = look_for_debug(p->elf);
	if (rc)
		return rc;
	p->dwarf = dwarf_begin_elf(p->elf, DWARF_C_READ, NULL);
	return p->dwarf && texts_end(p->elf) ? 0 : -ENOENT;
}

static bool same_crc(int fd, uint32_t want)
{
	uint8_t part[1 << 14];
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;
	for (off_t at = 0; (n = pread(fd, part, sizeof(part), at)) > 0; at += n)
		crc = crc32(crc, part, (uInt)n);
	return n == 0 && crc == want;
}

static bool same_build(int fd, const struct want *w)
{
	uint8_t other[WANT_ID_MAX];
	struct elf *e = elf_open(fd, "", NULL);
	bool same = e && elf_build_id(e, other, sizeof(other)) == w->id_sz && !memcmp(other, w->id, w->id_sz);
	elf_close(e);
	return same;
}

static bool fits(int fd, const struct want *w, uint32_t crc)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	return w->id_sz ? same_build(fd, w) : (uint64_t)st.st_size < CRC_SZ_MAX && same_crc(fd, crc);
}

static int try_want(struct debug_part *p, const struct want *w, uint32_t crc, const struct want_source *more)
{
	p->fd = more->open(more->ctx, w);
	int rc = p->fd >= 0 && fits(p->fd, w, crc) ? part_open(p, p->fd) : -ENOENT;
	if (rc == -ENOENT)
		part_close(p);
	return rc;
}

static int open_separate(struct debug_part *p, const struct elf *e, const char *link, uint32_t crc,
			 const struct want_source *more)
{
	struct want *w = calloc(1, sizeof(*w));
	int rc = -ENOENT;
	if (!w)
		return rc;
	w->id_sz = elf_build_id(e, w->id, sizeof(w->id));
	if (link && !strchr(link, '/'))
		strncpy(w->name, link, sizeof(w->name) - 1);
	for (w->kind = WANT_BY_ID; rc == -ENOENT && w->kind <= WANT_NETWORK; w->kind++) {
		bool by_id = w->kind == WANT_BY_ID || w->kind == WANT_NETWORK;
		if (by_id ? w->id_sz >= 2 : *w->name)
			rc = try_want(p, w, crc, more);
	}
	free(w);
	return rc;
}

/*
 * DWARF that refers to a shared (dwz) file is incomplete without it. libdw would open one at a path chosen by the file;
 * it does not if given one here (and the worker may not open files anyway).
 */
static int open_shared(struct debug *d, const struct want_source *more)
{
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(d->own.dwarf, &name, &id);
	if (n <= 0)
		return 0;
	struct want *w = calloc(1, sizeof(*w));
	int rc = -ENOENT;
	if (w && more && n >= 2 && n <= WANT_ID_MAX) {
		w->kind = WANT_SHARED;
		w->id_sz = (size_t)n;
		memcpy(w->id, id, w->id_sz);
		strncpy(w->name, name, sizeof(w->name) - 1);
		rc = try_want(&d->shared, w, 0, more);
	}
	if (!rc)
		dwarf_setalt(d->own.dwarf, d->shared.dwarf);
	free(w);
	return rc;
}

int debug_open(struct debug *d, int fd, const struct elf *e, const struct want_source *more)
{
	uint32_t crc = 0;
	d->own.fd = d->shared.fd = -1;
	int rc = part_open(&d->own, fd);
	if (rc == -ENOENT && d->own.elf && more) {
		const char *link = dwelf_elf_gnu_debuglink(d->own.elf, &crc);
		struct debug_part first = d->own; /* link points into it */
		d->own = (struct debug_part){ .fd = -1 };
		rc = open_separate(&d->own, e, link, crc, more);
		part_close(&first);
	}
	/* Without the shared file, a separate debug file still has lines and a symbol table. */
	if (!rc && open_shared(d, more) && d->own.fd < 0)
		rc = -ENOENT;
	if (rc == -ENOENT)
		debug_close(d);
	return rc;
}

void debug_close(struct debug *d)
{
	part_close(&d->own);
	part_close(&d->shared);
}
