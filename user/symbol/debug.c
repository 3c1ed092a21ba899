/* symbol/debug: see debug.h. */
#include "symbol/debug.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"

#define DEBUG_ROOT	"/usr/lib/debug"
#define SECTIONS_SZ_MAX (1ull << 30) /* kept in memory, so a larger file gets names from its tables */

static uint64_t unpacked_size(Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Chdr ch;
	if (!(sh->sh_flags & SHF_COMPRESSED))
		return sh->sh_size;
	return gelf_getchdr(scn, &ch) ? ch.ch_size : UINT64_MAX;
}

/*
 * What libdw would load. .zdebug_ sections (before 2015) hide their size, so a file with them is
 * treated as having no DWARF.
 */
static uint64_t debug_size(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;
	uint64_t sum = 0;
	bool info = false;
	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		if (!strncmp(name, ".zdebug_", 8))
			return 0;
		if (strncmp(name, ".debug_", 7))
			continue;
		uint64_t size = unpacked_size(scn, &sh);
		if (sh.sh_size > SECTIONS_SZ_MAX || size > SECTIONS_SZ_MAX - sum)
			return 0;
		sum += size;
		info |= !strcmp(name, ".debug_info");
	}
	return info ? sum : 0;
}

/* A path in DWARF that names a shared part (dwz) is followed in files of the system only. */
static bool has_foreign_part(const struct debug *d)
{
	const char *name;
	const void *id;
	return d->fd < 0 && dwelf_dwarf_gnu_debugaltlink(d->dwarf, &name, &id) > 0;
}

/*
 * ELF_C_READ copies, where libdwfl would map: a traced program may truncate its own file, and a
 * mapping of it would then be a SIGBUS here.
 */
static int try_file(struct debug *d, int fd)
{
	elf_version(EV_CURRENT);
	d->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!d->elf || elf_kind(d->elf) != ELF_K_ELF)
		return -ENOENT;
	d->bytes = debug_size(d->elf);
	if (!d->bytes)
		return -ENOENT;
	d->dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->dwarf && !has_foreign_part(d) ? 0 : -ENOENT;
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

static bool same_build(int fd, const uint8_t *id, size_t n)
{
	uint8_t other[64];
	struct elf *e = elf_open(fd, "", NULL);
	bool same = e && elf_build_id(e, other, sizeof(other)) == n && !memcmp(other, id, n);
	elf_close(e);
	return same;
}

struct wanted {
	uint8_t id[64];
	size_t id_sz;
	const char *link; /* a file name without directories, or NULL */
	uint32_t crc;
};

/* O_NONBLOCK: what stands at that path may be a FIFO. */
static int try_path(struct debug *d, const struct wanted *w, struct buf *path)
{
	struct stat st;
	d->fd = path->failed ? -1 : open(buf_str(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (d->fd < 0)
		return -ENOENT;
	bool fits = !fstat(d->fd, &st) && S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size <= 2 * SECTIONS_SZ_MAX &&
		    (w->id_sz ? same_build(d->fd, w->id, w->id_sz) : same_crc(d->fd, w->crc));
	int rc = fits ? try_file(d, d->fd) : -ENOENT;
	if (rc)
		debug_close(d);
	return rc;
}

static int try_build_id(struct debug *d, const struct wanted *w, struct buf *path)
{
	if (w->id_sz < 2)
		return -ENOENT;
	buf_reset(path);
	buf_addf(path, DEBUG_ROOT "/.build-id/%02x/", w->id[0]);
	for (size_t i = 1; i < w->id_sz; i++)
		buf_addf(path, "%02x", w->id[i]);
	buf_adds(path, ".debug");
	return try_path(d, w, path);
}

static int try_link(struct debug *d, const struct wanted *w, const char *module, struct buf *path)
{
	static const char *const form[] = { "%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s" };
	const char *slash = module ? strrchr(module, '/') : NULL;
	int rc = -ENOENT;
	for (size_t i = 0; rc && slash && w->link && i < 3; i++) {
		buf_reset(path);
		buf_addf(path, form[i], (int)(slash - module), module, w->link);
		rc = try_path(d, w, path);
	}
	return rc;
}

static int try_elsewhere(struct debug *d, struct wanted *w, const char *module)
{
	struct buf path = { 0 };
	int rc = try_build_id(d, w, &path);
	if (rc)
		rc = try_link(d, w, module, &path);
	buf_free(&path);
	return rc;
}

int debug_open(struct debug *d, int fd, const char *path, const struct elf *e)
{
	struct wanted w = { .id_sz = elf_build_id(e, w.id, sizeof(w.id)) };
	char link[NAME_MAX + 1];
	memset(d, 0, sizeof(*d));
	d->fd = -1;
	if (!try_file(d, fd))
		return 0;
	w.link = d->elf ? dwelf_elf_gnu_debuglink(d->elf, &w.crc) : NULL;
	if (w.link && (strchr(w.link, '/') || strlen(w.link) > NAME_MAX))
		w.link = NULL;
	if (w.link)
		w.link = strcpy(link, w.link);
	debug_close(d);
	return try_elsewhere(d, &w, path);
}

void debug_close(struct debug *d)
{
	dwarf_end(d->dwarf);
	elf_end(d->elf);
	if (d->fd >= 0)
		close(d->fd);
	*d = (struct debug){ .fd = -1 };
}
