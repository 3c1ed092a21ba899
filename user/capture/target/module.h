/* SPDX-License-Identifier: Apache-2.0 */
/* target/module: the files that are mapped into traced processes, each opened once. */
#ifndef ALYS_TARGET_MODULE_H
#define ALYS_TARGET_MODULE_H

#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "elf/elf.h"
#include "target/proc.h"

struct open_module {
	struct module_id id;
	uint64_t dev, ino;
	int fd;          /* negative: could not be opened */
	struct elf *elf; /* NULL: not an ELF file of this machine */
	off_t size;      /* when it was opened, as the next one */
	struct timespec mtime;
	bool outdated; /* written anew since: another module is in its place */
	bool refused;  /* there was no room for it */
};

/* Files so far that could not be opened: how many, and of the first one whose it was, and why. */
struct closed_files {
	size_t cnt;
	char path[256];
	uint32_t tgid;
	int code; /* ENODEV: no regular file; ESTALE: another one is in its place; ENOMEM: no room */
};

struct module_table {
	struct open_module *modules; /* by id */
	size_t modules_cnt, modules_cap;
	uint32_t last_id;
	struct map index; /* device and inode -> place + 1 of the module taken in last */
	struct closed_files closed;
	bool (*has_room)(void *ctx, const char *path);               /* for what is known of one more file; NULL: always */
	struct elf *(*outline)(void *ctx, int fd, const char *path); /* as in struct target_ops */
	void *ctx;
};

void closed_text(const struct closed_files *c, struct buf *out);

/* The mapped file itself, also when it was deleted or replaced: a descriptor, the caller's, or -errno. */
int module_open(uint32_t tgid, const struct map_line *line);
/*
 * The module of a mapping, opened through the process when it is new, or written anew since. NULL
 * when memory is out.
 */
const struct open_module *module_of(struct module_table *t, struct catalog *c, uint32_t tgid, const struct map_line *line);
/* A new module of no file: the code that a process makes while it runs. key tells processes apart. */
const struct open_module *module_made(struct module_table *t, struct catalog *c, uint32_t tgid, uint64_t key);
const struct open_module *module_by_id(const struct module_table *t, struct module_id id);
/*
 * Forgets the modules that `used` (a byte each, by place) does not name; their ids are not used
 * again.
 */
void module_table_prune(struct module_table *t, const uint8_t *used);
void module_table_free(struct module_table *t);

#endif
