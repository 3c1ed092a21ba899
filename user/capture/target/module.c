/* SPDX-License-Identifier: Apache-2.0 */
/* target/module: see module.h. */
#include "target/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/text.h"
#include "base/vec.h"
#include "sandbox/caps.h"

/* An address in our own memory, and the file that should be mapped there. */
struct shown {
	uint64_t at;
	const struct map_line *line;
	bool same;
};

static int compare_line(void *ctx, const struct map_line *own)
{
	struct shown *s = ctx;
	if (s->at < own->start || s->at >= own->end)
		return 0;
	s->same = own->dev == s->line->dev && own->ino == s->line->ino;
	return 1;
}

/* On overlayfs and btrfs, fstat gives other numbers than /proc/PID/maps: maps the file and reads our own maps. */
static bool is_listed_so(int fd, const struct map_line *line)
{
	void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	struct shown s = { .at = (uint64_t)at, .line = line };
	struct err err;
	if (at == MAP_FAILED)
		return false;
	proc_each_map((uint32_t)getpid(), compare_line, &s, &err);
	munmap(at, 1);
	return s.same;
}

/* Inode numbers are unique only within one file system. */
static bool is_file(int fd, const struct map_line *line)
{
	struct stat st;
	return !fstat(fd, &st) && ((st.st_ino == line->ino && st.st_dev == line->dev) || is_listed_so(fd, line));
}

/*
 * map_files leads to the mapped file itself, even if it was deleted, replaced or is in another mount namespace. It
 * needs privileges, so the path through the process's root is tried next.
 */
int module_open(uint32_t tgid, const struct map_line *line)
{
	tgid = proc_holder(tgid);
	int fd = rights_mapped(tgid, line->start, line->end), first = fd;
	if (fd >= 0 && (!line->past || is_file(fd, line)))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = rights_file(tgid, line->path);
	struct stat st;
	/* The process has ended, or executes another program by now: most likely its root was the same as ours. */
	bool gone = fd == -ENOENT || fd == -ESRCH || fd == -ESTALE;
	if (gone && !stat(line->path, &st) && S_ISREG(st.st_mode)) {
		fd = open(line->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd >= 0 && !is_file(fd, line)) {
		close(fd);
		fd = -ESTALE;
	}
	return fd >= 0 || (first != -EPERM && first != -EACCES) ? fd : first;
}

static void name_module(struct module *m, const struct open_module *o, const struct map_line *line)
{
	*m = (struct module){ .id = o->id, .path = line->path, .dev = o->dev, .ino = o->ino };
	if (o->elf)
		m->build_id_sz = (uint8_t)elf_build_id(o->elf, m->build_id, sizeof(m->build_id));
}

/* Overwritten in place, as cp does: what is known about it is outdated. */
static bool is_rewritten(const struct open_module *o)
{
	struct stat st;
	return o->elf && !fstat(o->fd, &st) &&
	       (st.st_size != o->size || st.st_mtim.tv_sec != o->mtime.tv_sec || st.st_mtim.tv_nsec != o->mtime.tv_nsec);
}

static bool is_of(const struct open_module *o, const struct map_line *line)
{
	return o->ino == line->ino && o->dev == line->dev && !o->outdated;
}

static struct open_module *find_module(struct module_table *t, uint64_t place, const struct map_line *line)
{
	if (!place || is_of(&t->modules[place - 1], line))
		return place ? &t->modules[place - 1] : NULL;
	/* Two files may share a key. */
	for (size_t i = 0; i < t->modules_cnt; i++) {
		if (is_of(&t->modules[i], line))
			return &t->modules[i];
	}
	return NULL;
}

static void note_closed(struct module_table *t, uint32_t tgid, const char *path, int code)
{
	if (!t->closed.cnt++) {
		snprintf(t->closed.path, sizeof(t->closed.path), "%s", path);
		t->closed.tgid = tgid;
		t->closed.code = code;
	}
}

static const char *reason(int code)
{
	switch (code) {
	case ENODEV: return "it is no regular file";
	case ESTALE: return "another file is in its place";
	case ENOMEM: return "there is no room in memory for what would be known of it";
	case ENOENT:
	case ESRCH: return "it, or the process, was gone by then";
	default: return strerror(code);
	}
}

static void add_missing(struct buf *out)
{
	char missing[CAPS_MISSING_TEXT];
	if (*caps_missing(missing))
		buf_addf(out, "%s%s", geteuid() ? "; run as root (sudo), or with " : "; root here lacks ", missing);
}

void closed_text(const struct closed_files *c, struct buf *out)
{
	text_clean(out, c->path, SIZE_MAX);
	buf_addf(out, " of process %u", c->tgid);
	if (c->cnt > 1)
		buf_addf(out, " (and %zu more file%s)", c->cnt - 1, c->cnt > 2 ? "s" : "");
	buf_addf(out, " could not be opened: %s", reason(c->code));
	if (c->code == EPERM || c->code == EACCES)
		add_missing(out);
}

static bool has_room(const struct module_table *t, const struct map_line *line)
{
	return !t->has_room || t->has_room(t->ctx, line->path);
}

static void open_file(struct module_table *t, struct open_module *o, uint32_t tgid, const struct map_line *line)
{
	struct stat st;
	o->dev = line->dev;
	o->ino = line->ino;
	o->refused = line->ino && !has_room(t, line);
	o->fd = o->refused ? -ENOMEM : line->ino ? module_open(tgid, line) : -1;
	/* Files that are not ELF are not needed. */
	if (line->ino && o->fd < 0 && o->fd != -ENOEXEC && !line->past)
		note_closed(t, tgid, line->path, -o->fd);
	if (o->fd >= 0)
		o->elf = t->outline ? t->outline(t->ctx, o->fd, line->path) : elf_open(o->fd, line->path, NULL);
	if (o->fd < 0 || fstat(o->fd, &st))
		return;
	o->size = st.st_size;
	o->mtime = st.st_mtim;
}

const struct open_module *module_of(struct module_table *t, struct catalog *c, uint32_t tgid, const struct map_line *line)
{
	uint64_t *place = map_put(&t->index, line->dev << 40 ^ line->ino);
	struct open_module *known = place ? find_module(t, *place, line) : NULL;
	if (known && !is_rewritten(known) && !(known->refused && has_room(t, line)))
		return known;
	if (known)
		known->outdated = true;
	struct open_module *o = place ? VEC_PUSH(t, modules) : NULL;
	if (!o)
		return NULL;
	o->id = (struct module_id){ ++t->last_id };
	open_file(t, o, tgid, line);
	/* A file that is gone is known by its path only; when it is mapped again, it may still be there to be opened. */
	o->outdated = line->past && o->fd < 0;
	if (!o->outdated)
		*place = t->modules_cnt;
	struct module m;
	name_module(&m, o, line);
	return catalog_put_module(c, &m) ? NULL : o;
}

const struct open_module *module_made(struct module_table *t, struct catalog *c, uint32_t tgid, uint64_t key)
{
	char name[32];
	struct open_module *o = VEC_PUSH(t, modules);
	if (!o)
		return NULL;
	snprintf(name, sizeof(name), "[jit] %u", tgid);
	*o = (struct open_module){ .id = { ++t->last_id }, .dev = UINT64_MAX, .ino = key, .fd = -1 };
	struct module m = { .id = o->id, .path = name, .dev = o->dev, .ino = o->ino };
	return catalog_put_module(c, &m) ? NULL : o;
}

static int compare_ids(const void *key, const void *module)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct open_module *)module)->id.n;
	return a < b ? -1 : a > b;
}

const struct open_module *module_by_id(const struct module_table *t, struct module_id id)
{
	if (!t->modules_cnt)
		return NULL;
	return bsearch(&id.n, t->modules, t->modules_cnt, sizeof(*t->modules), compare_ids);
}

static void close_module(struct open_module *o)
{
	elf_close(o->elf);
	if (o->fd >= 0)
		close(o->fd);
}

/* If out of memory, a file will be treated as new, which costs time but gives no wrong result. */
static void index_modules(struct module_table *t)
{
	map_free(&t->index);
	for (size_t i = 0; i < t->modules_cnt; i++) {
		const struct open_module *o = &t->modules[i];
		bool found = o->dev != UINT64_MAX && !o->outdated;
		uint64_t *place = found ? map_put(&t->index, o->dev << 40 ^ o->ino) : NULL;
		if (place)
			*place = i + 1;
	}
}

void module_table_prune(struct module_table *t, const uint8_t *used)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->modules_cnt; i++) {
		if (used[i])
			t->modules[kept++] = t->modules[i];
		else
			close_module(&t->modules[i]);
	}
	if (kept == t->modules_cnt)
		return;
	t->modules_cnt = kept;
	index_modules(t);
}

void module_table_free(struct module_table *t)
{
	for (size_t i = 0; i < t->modules_cnt; i++)
		close_module(&t->modules[i]);
	free(t->modules);
	map_free(&t->index);
	*t = (struct module_table){ 0 };
}
