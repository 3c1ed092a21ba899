/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/process: see process.h. */
#include "glibc/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocators/allocators.h"
#include "base/text.h"

/* --- which file --------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_library(const struct space_region *r)
{
	const char *name = name_of(r->path);
	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7);
}

static bool is_musl(const char *path)
{
	return strstr(path, "/ld-musl-") || strstr(path, "-musl/");
}

/* The C library, else the program, which may contain it. */
static const struct space_region *find_file(const struct glibc_process *p)
{
	const struct space_region *program = NULL;
	for (size_t i = 0; i < p->space.regions_cnt; i++) {
		const struct space_region *r = &p->space.regions[i];
		if (!r->exec || !r->ino)
			continue;
		if (is_library(r))
			return r;
		if (!program && !strcmp(r->path, p->place.exe))
			program = r;
	}
	return program;
}

void glibc_other_allocators(const struct space *s, struct buf *out)
{
	for (size_t i = 0; i < s->regions_cnt; i++) {
		const struct space_region *r = &s->regions[i];
		int family = r->exec && r->ino ? alloc_family_of_file(r->path) : -1;
		bool other = family >= 0 && family != ALLOC_LIBC && family != ALLOC_CXX;
		const char *name = other ? alloc_family_name((enum alloc_family)family) : is_musl(r->path) ? "musl" : NULL;
		if (!name || strstr(buf_str(out), name))
			continue;
		buf_adds(out, out->len ? ", " : "");
		buf_adds(out, name);
	}
}

/* Blocks of these are not in any arena. */
static void note_others(struct glibc_process *p)
{
	struct buf names = { 0 };
	glibc_other_allocators(&p->space, &names);
	snprintf(p->others, sizeof(p->others), "%s", buf_str(&names));
	buf_free(&names);
}

static int not_glibc(const struct glibc_process *p, struct err *err)
{
	const char *which = "none of its files is glibc";
	for (size_t i = 0; i < p->space.regions_cnt; i++) {
		if (is_musl(p->space.regions[i].path))
			which = "its C library is musl";
	}
	return err_set(err, ENOENT, "process %u (%s): its malloc is not glibc's: %s", p->memory.tgid, p->place.comm, which);
}

/* --- opening ------------------------------------------------------------------------------------ */

static int find(struct glibc_process *p, struct err *err)
{
	struct buf path = { 0 };
	int rc = place_begin(&p->memory, &p->space, &p->place, err);
	const struct space_region *r = rc ? NULL : find_file(p);
	if (rc)
		return rc;
	p->elf = r ? place_file(p->memory.tgid, r, &p->fd) : NULL;
	uint32_t version = p->elf ? glibc_version(p->elf) : 0;
	if (!version || !place_bias(p->elf, &p->space, r->dev, r->ino, &p->bias))
		return not_glibc(p, err);
	p->dev = r->dev;
	p->ino = r->ino;
	text_clean(&path, r->path, sizeof(p->file) / 2);
	snprintf(p->file, sizeof(p->file), "%s", buf_str(&path));
	buf_free(&path);
	note_others(p);
	rc = glibc_layout_find(&p->memory, &p->space, r, version, &p->layout, err);
	if (rc == -ENODATA && *p->others)
		return err_set(err, ENOENT, "process %u (%s): its malloc is not glibc's, which was never called: %s is mapped",
			       p->memory.tgid, p->place.comm, p->others);
	return rc ? err_wrap(err, "process %u (%s): %s", p->memory.tgid, p->place.comm, p->file) : 0;
}

int glibc_find(struct glibc_process *p, uint32_t tgid, struct err *err)
{
	*p = (struct glibc_process){ .memory = { .tgid = tgid }, .fd = -1 };
	int rc = find(p, err);
	if (rc)
		glibc_close(p);
	return rc;
}

void glibc_close(struct glibc_process *p)
{
	space_free(&p->space);
	elf_close(p->elf);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct glibc_process){ .fd = -1 };
}

int glibc_read(struct glibc_process *p, struct glibc_heap *out, bool still, struct err *err)
{
	struct space now;
	int rc = place_space(p->memory.tgid, &now, err);
	if (rc)
		return rc;
	space_free(&p->space);
	p->space = now;
	rc = glibc_heap_read(&p->memory, &p->space, &p->layout, still, out, err);
	if (rc == -ESRCH)
		return err_set(err, ESRCH, "process %u (%s) ended while its heap was read", p->memory.tgid, p->place.comm);
	if (rc == -ENODATA && *p->others)
		return err_set(err, ENOENT, "process %u (%s): its malloc is not glibc's, which was never called: %s is mapped",
			       p->memory.tgid, p->place.comm, p->others);
	return rc ? err_wrap(err, "process %u (%s)", p->memory.tgid, p->place.comm) : 0;
}
