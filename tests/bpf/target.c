/* SPDX-License-Identifier: Apache-2.0 */
/* See target.h. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"

#define VDSO_KEY 1 /* not the inode of any file */

struct line {
	uint64_t start, end, offset, ino;
	unsigned int major, minor;
	char perms[5], path[512];
};

struct list {
	struct table_mapping *all;
	size_t all_cnt, all_cap;
};

static bool parse(const char *text, struct line *l)
{
	l->path[0] = 0;
	return sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %511[^\n]", &l->start, &l->end, l->perms, &l->offset, &l->major,
		      &l->minor, &l->ino, l->path) >= 7;
}

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void publish_file(struct target *t, uint64_t key, const struct elf *e)
{
	struct err err = { 0 };
	double from = now_ms();
	struct unwind_table *u = unwind_compile(e, &err);
	t->compile_ms += now_ms() - from;
	size_t size = 0;
	elf_section(e, ".eh_frame", &size, &(uint64_t){ 0 });
	if (u && tables_put(t->tables, key, u, &err) == 0)
		t->eh_bytes += size;
	else if (err.code != ENODATA)
		fprintf(stderr, "%s\n", err.text);
	unwind_free(u);
}

static void add_file(struct target *t, struct list *list, const struct line *l)
{
	struct table_mapping m = { .start = l->start, .end = l->end };
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", t->tgid, l->start, l->end);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = fd >= 0 ? elf_open(fd, l->path, NULL) : NULL;
	const struct elf_mapped part = { .offset = l->offset, .size = l->end - l->start, .exec = true };
	uint64_t vaddr;
	if (e && elf_mapped_vaddr(e, &part, &vaddr)) {
		m.file = l->ino ^ (uint64_t)makedev(l->major, l->minor) << 40;
		m.bias = l->start - vaddr;
		if (!tables_has(t->tables, m.file))
			publish_file(t, m.file, e);
	}
	elf_close(e);
	if (fd >= 0)
		close(fd);
	*VEC_PUSH(list, all) = m;
}

static void add_vdso(struct target *t, struct list *list, const struct line *l)
{
	struct err err = { 0 };
	struct unwind_table *u = tables_has(t->tables, VDSO_KEY) ? NULL : unwind_compile_vdso(&err);
	if (err.code || (u && tables_put(t->tables, VDSO_KEY, u, &err)))
		fprintf(stderr, "vdso: %s\n", err.text);
	unwind_free(u);
	*VEC_PUSH(list, all) = (struct table_mapping){ l->start, l->end, l->start, VDSO_KEY };
}

static void add_line(struct target *t, struct list *list, const struct line *l)
{
	if (l->perms[2] != 'x' || !strcmp(l->path, "[uprobes]") || !strcmp(l->path, "[vsyscall]"))
		return;
	if (!strcmp(l->path, "[vdso]"))
		add_vdso(t, list, l);
	else if (l->ino)
		add_file(t, list, l);
	else
		*VEC_PUSH(list, all) = (struct table_mapping){ .start = l->start, .end = l->end };
}

static bool read_text(uint32_t tgid, struct buf *out)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	while (fd >= 0 && n > 0) {
		uint8_t *room = buf_room(out, 65536);
		n = read(fd, room, 65536);
		out->len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return out->len > 0;
}

bool target_read(struct target *t)
{
	struct buf text = { 0 };
	struct list list = { 0 };
	struct line l;
	struct err err = { 0 };
	if (!read_text(t->tgid, &text)) {
		buf_free(&text);
		return false;
	}
	for (const char *at = buf_str(&text); at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (parse(at, &l))
			add_line(t, &list, &l);
	}
	if (tables_put_mappings(t->tables, t->tgid, list.all, list.all_cnt, &err))
		fprintf(stderr, "%s\n", err.text);
	oracle_free(t->oracle);
	t->oracle = oracle_new(t->tgid, buf_str(&text));
	t->reads++;
	free(list.all);
	buf_free(&text);
	return true;
}

void target_close(struct target *t)
{
	oracle_free(t->oracle);
	tables_free(t->tables);
}

pid_t target_spawn(char **argv, int *gate)
{
	int fds[2];
	char go;
	if (pipe2(fds, O_CLOEXEC))
		abort();
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[1]);
		if (read(fds[0], &go, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	close(fds[0]);
	*gate = fds[1];
	return pid;
}

void target_go(int gate)
{
	if (write(gate, "g", 1) != 1)
		abort();
	close(gate);
}

struct wanted {
	const char *name;
	uint64_t vaddr;
};

static int match(void *ctx, const struct elf_symbol *s)
{
	struct wanted *w = ctx;
	if (!s->defined || strcmp(s->name, w->name))
		return 0;
	w->vaddr = s->vaddr;
	return 1;
}

uint64_t function_offset(const char *path, const char *symbol)
{
	struct err err = { 0 };
	struct wanted w = { .name = symbol };
	uint64_t offset = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, path, &err);
	if (!e || !elf_each_symbol(e, match, &w) || !elf_offset_of(e, w.vaddr, &offset)) {
		fprintf(stderr, "no %s in %s %s\n", symbol, path, err.text);
		exit(2);
	}
	elf_close(e);
	close(fd);
	return offset;
}
