/* target/module: the files that are mapped into traced processes, each opened once. */
#ifndef ALYS_TARGET_MODULE_H
#define ALYS_TARGET_MODULE_H

#include "base/err.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "elf/elf.h"
#include "target/proc.h"

struct open_module {
	struct module_id id;
	uint64_t dev, ino;
	int fd;          /* -1: could not be opened */
	struct elf *elf; /* NULL: not an ELF file of this machine */
};

struct module_table {
	struct open_module *modules;
	size_t modules_cnt, modules_cap;
	struct map index; /* device and inode -> place + 1 of the module taken in last */
	size_t closed;    /* files so far that could not be opened */
};

/* The mapped file itself, also when it was deleted or replaced: a descriptor, the caller's, or -1. */
int module_open(uint32_t tgid, const struct map_line *line);
/* The module of a mapping, opened through the process when it is new. NULL when memory is out. */
const struct open_module *module_of(struct module_table *t, struct catalog *c, uint32_t tgid,
				    const struct map_line *line);
/* A new module of no file: the code that a process makes while it runs. key tells processes apart. */
const struct open_module *module_made(struct module_table *t, struct catalog *c, uint32_t tgid, uint64_t key);
const struct open_module *module_by_id(const struct module_table *t, struct module_id id);
/* Closes the files of the modules that `used` (a byte each, by place) does not name; their ids stay taken. */
void module_table_prune(struct module_table *t, const uint8_t *used);
void module_table_free(struct module_table *t);

#endif
