/* SPDX-License-Identifier: Apache-2.0 */
/* target/module: files mapped into traced processes, each opened once. */
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
	off_t size;      /* when opened; so is the next */
	struct timespec mtime;
	bool outdated; /* rewritten since: another module has taken its place */
	bool refused;  /* there was no memory for it */
};

/* Files that could not be opened: how many; for the first one the process and the reason. */
struct closed_files {
	size_t cnt;
	char path[256];
	uint32_t tgid;
	int code; /* ENODEV: not a regular file; ESTALE: replaced by another; ENOMEM: memory limit */
};

struct module_table {
	struct open_module *modules; /* by id */
	size_t modules_cnt, modules_cap;
	uint32_t last_id;
	struct map index; /* device and inode -> index + 1 of the latest module */
	struct closed_files closed;
	bool (*has_room)(void *ctx, const char *path);               /* memory for one more file's data; NULL: no limit */
	struct elf *(*outline)(void *ctx, int fd, const char *path); /* as in struct target_ops */
	void *ctx;
};

void closed_text(const struct closed_files *c, struct buf *out);

/* The mapped file itself, even if deleted or replaced: a descriptor owned by the caller, or -errno. */
int module_open(uint32_t tgid, const struct map_line *line);
/* The module of a mapping, opened through the process if it is new or was rewritten. NULL when out of memory. */
const struct open_module *module_of(struct module_table *t, struct catalog *c, uint32_t tgid, const struct map_line *line);
/* A new module without a file: generated code. key distinguishes processes. */
const struct open_module *module_made(struct module_table *t, struct catalog *c, uint32_t tgid, uint64_t key);
const struct open_module *module_by_id(const struct module_table *t, struct module_id id);
/* Forgets modules that are not set in `used` (one byte each, by index); their ids are not reused. */
void module_table_prune(struct module_table *t, const uint8_t *used);
void module_table_free(struct module_table *t);

#endif
