/* target/module: see module.h. */
#include "target/module.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/vec.h"

static int open_regular(const char *path)
{
	struct stat st;
	int fd = rights_open(path, O_RDONLY | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * map_files leads to the mapped file itself, also when it was deleted, replaced or lies in another
 * mount namespace; it wants privileges, so the path through the process's root is tried next.
 */
int module_open(uint32_t tgid, const struct map_line *line)
{
	char path[4200];
	tgid = proc_holder(tgid);
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tgid, line->start, line->end);
	int fd = open_regular(path);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", tgid, line->path);
	fd = open_regular(path);
	struct stat st;
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != line->ino)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void name_module(struct module *m, const struct open_module *o, const struct map_line *line)
{
	*m = (struct module){ .id = o->id, .path = line->path, .dev = o->dev, .ino = o->ino };
	if (o->elf)
		m->build_id_sz = (uint8_t)elf_build_id(o->elf, m->build_id, sizeof(m->build_id));
}

const struct open_module *module_of(struct module_table *t, struct catalog *c, uint32_t tgid,
				    const struct map_line *line)
{
	uint64_t *place = map_put(&t->index, line->dev << 40 ^ line->ino);
	const struct open_module *known = place && *place ? &t->modules[*place - 1] : NULL;
	if (known && known->ino == line->ino && known->dev == line->dev)
		return known;
	/* Two files may share a key. */
	for (size_t i = 0; known && i < t->modules_cnt; i++) {
		if (t->modules[i].ino == line->ino && t->modules[i].dev == line->dev)
			return &t->modules[i];
	}
	struct open_module *o = place ? VEC_PUSH(t, modules) : NULL;
	if (!o)
		return NULL;
	*place = t->modules_cnt;
	o->id = (struct module_id){ (uint32_t)t->modules_cnt };
	o->dev = line->dev;
	o->ino = line->ino;
	o->fd = line->ino ? module_open(tgid, line) : -1;
	t->closed += line->ino && o->fd < 0;
	o->elf = o->fd >= 0 ? elf_open(o->fd, line->path, NULL) : NULL;
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
	*o = (struct open_module){ .id = { (uint32_t)t->modules_cnt }, .dev = UINT64_MAX, .ino = key, .fd = -1 };
	struct module m = { .id = o->id, .path = name, .dev = o->dev, .ino = o->ino };
	return catalog_put_module(c, &m) ? NULL : o;
}

const struct open_module *module_by_id(const struct module_table *t, struct module_id id)
{
	return id.n && id.n <= t->modules_cnt ? &t->modules[id.n - 1] : NULL;
}

void module_table_prune(struct module_table *t, const uint8_t *used)
{
	for (size_t i = 0; i < t->modules_cnt; i++) {
		struct open_module *o = &t->modules[i];
		if (used[i] || !o->ino || o->dev == UINT64_MAX)
			continue;
		elf_close(o->elf);
		if (o->fd >= 0)
			close(o->fd);
		map_del(&t->index, o->dev << 40 ^ o->ino);
		*o = (struct open_module){ .id = o->id, .fd = -1 };
	}
}

void module_table_free(struct module_table *t)
{
	for (size_t i = 0; i < t->modules_cnt; i++) {
		elf_close(t->modules[i].elf);
		if (t->modules[i].fd >= 0)
			close(t->modules[i].fd);
	}
	free(t->modules);
	map_free(&t->index);
	*t = (struct module_table){ 0 };
}
