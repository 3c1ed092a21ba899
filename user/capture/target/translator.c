/* SPDX-License-Identifier: Apache-2.0 */
/* target/translator: see translator.h. */
#include "target/translator.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "target/proc.h"

/*
 * Emulators of other architectures are not listed: their guests' files are never probed. rr does not execute copies of
 * code, but counts the branches executed, which probes change: a replay would fail.
 */
static const struct {
	const char *name;
	const char *files; /* fnmatch pattern of a mapped file's path */
} translators[] = {
	{ "valgrind", "*/valgrind/*-linux" },
	{ "valgrind", "*/vgpreload_*.so" },
	{ "qemu", "*/qemu-x86_64*" },
	{ "DynamoRIO", "*/libdynamorio.so*" },
	{ "Pin", "*/pinbin" },
	{ "rr", "*/librrpreload.so" },
	{ "rr", "*/librrpage.so" },
	{ "Frida", "*frida-agent*.so*" },
	{ "Frida", "*/*frida-gadget*.so*" },
	{ "QBDI", "*/libQBDI*.so*" },
	{ "blink", "*/blink" },
};

const char *translator_by_file(const char *path)
{
	for (size_t i = 0; i < sizeof(translators) / sizeof(translators[0]); i++) {
		if (!fnmatch(translators[i].files, path, 0))
			return translators[i].name;
	}
	return NULL;
}

#define PAGE 4096
#define PARTS_MAX 1024 /* per process, since each is compared with all */

/* A mapped part of a file: code, read-only, or data. */
struct part {
	uint64_t dev, ino, offset, size, start;
	bool exec, writable;
};

struct looking {
	const char *found;
	struct part *parts;
	size_t parts_cnt, parts_cap;
};

static bool is_same(const struct part *a, const struct part *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->offset == b->offset && a->size == b->size;
}

/* Do both have a writable part of the file, at the same distance? */
static bool have_data(const struct looking *l, const struct part *a, const struct part *b, const struct part *data)
{
	for (size_t i = 0; i < l->parts_cnt; i++) {
		const struct part *other = &l->parts[i];
		if (other != data && other->writable && is_same(other, data) && data->start - a->start == other->start - b->start)
			return true;
	}
	return false;
}

/*
 * An emulator of this architecture that shares a library with its guest has loaded it twice: its own code is
 * executable, the guest's only readable, and each has its data after it. Loaders never map code without the permission
 * to execute it. Programs that map a file to parse it (profilers, backtrace printers) have no data of it at that
 * distance.
 */
static bool is_mapped_twice(const struct looking *l, const struct part *code)
{
	for (size_t i = 0; i < l->parts_cnt; i++) {
		const struct part *twin = &l->parts[i];
		if (!is_same(code, twin) || twin->exec || twin->writable)
			continue;
		for (size_t k = 0; k < l->parts_cnt; k++) {
			const struct part *data = &l->parts[k];
			if (data->writable && data->dev == code->dev && data->ino == code->ino && have_data(l, code, twin, data))
				return true;
		}
	}
	return false;
}

static void add_part(struct looking *l, const struct map_line *line)
{
	struct part *place = NULL;
	bool large = line->writable || line->end - line->start > PAGE;
	if (line->ino && line->offset && large && l->parts_cnt < PARTS_MAX)
		place = VEC_PUSH(l, parts);
	if (place)
		*place = (struct part){ line->dev,   line->ino,  line->offset,  line->end - line->start,
					line->start, line->exec, line->writable };
}

static int check_line(void *ctx, const struct map_line *line)
{
	struct looking *l = ctx;
	l->found = line->exec ? translator_by_file(line->path) : NULL;
	add_part(l, line);
	return l->found != NULL;
}

const char *translator_of(uint32_t tgid)
{
	struct looking l = { 0 };
	proc_each_map(tgid, check_line, &l, NULL);
	for (size_t i = 0; i < l.parts_cnt && !l.found; i++)
		l.found = l.parts[i].exec && is_mapped_twice(&l, &l.parts[i]) ? "an emulator" : NULL;
	free(l.parts);
	return l.found;
}

uint32_t translator_search(const char **name)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	uint32_t found = 0;
	while (dir && !found && (e = readdir(dir))) {
		uint32_t tgid = (uint32_t)strtoul(e->d_name, NULL, 10);
		*name = tgid ? translator_of(tgid) : NULL;
		found = *name ? tgid : 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

int translator_refuse(uint32_t tgid, const char *name, struct err *err)
{
	return err_set(err, ENOTSUP,
		       "process %u runs under %s, where a probe would kill it: run the program without it to trace it", tgid,
		       name);
}
