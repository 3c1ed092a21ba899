/* SPDX-License-Identifier: Apache-2.0 */
/* target/module: files of traced processes, over time. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/module.h"

struct world {
	struct module_table table;
	struct catalog *catalog;
	char path[64];
	struct map_line line;
};

static void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* This very program: an ELF file. The caller's. */
static char *read_self(size_t *n)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	*n = (size_t)st.st_size;
	char *bytes = malloc(*n);
	for (size_t at = 0; at < *n;) {
		ssize_t got = read(fd, bytes + at, *n - at);
		assert_true(got > 0);
		at += (size_t)got;
	}
	close(fd);
	return bytes;
}

static struct world *begin(const void *bytes, size_t n)
{
	struct world *w = calloc(1, sizeof(*w));
	struct stat st;
	w->catalog = catalog_new();
	snprintf(w->path, sizeof(w->path), "/tmp/alys-module-%d", (int)getpid());
	write_file(w->path, bytes, n);
	assert_int_equal(stat(w->path, &st), 0);
	w->line = (struct map_line){ .path = w->path, .dev = st.st_dev, .ino = st.st_ino };
	return w;
}

static void end(struct world *w)
{
	unlink(w->path);
	module_table_free(&w->table);
	catalog_free(w->catalog);
	free(w);
}

static uint32_t look(struct world *w)
{
	const struct open_module *o = module_of(&w->table, w->catalog, (uint32_t)getpid(), &w->line);
	assert_non_null(o);
	assert_true(o->fd >= 0);
	return o->id.n;
}

/* A thousand programs that run once a day each: no more is kept than what runs now. */
static void test_forgotten_modules_leave_nothing(void **state)
{
	struct world *w = begin("text", 4);
	uint8_t used[2] = { 0 };
	uint32_t made = module_made(&w->table, w->catalog, 1, 7)->id.n, before = 0;
	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint32_t id = look(w);
		assert_true(id > before);
		assert_int_equal(look(w), id);
		assert_int_equal(module_by_id(&w->table, (struct module_id){ id })->id.n, id);
		before = id;
		used[0] = i < 500;
		module_table_prune(&w->table, used);
		assert_null(module_by_id(&w->table, (struct module_id){ id }));
		assert_int_equal(w->table.modules_cnt, i < 500);
		assert_int_equal(module_by_id(&w->table, (struct module_id){ made }) != NULL, i < 500);
	}
	end(w);
}

/* cp over a program: what is known of it is wrong now, but not of those that still have the old one. */
static void test_written_anew(void **state)
{
	size_t n;
	char *bytes = read_self(&n);
	struct world *w = begin(bytes, n);
	uint8_t used[2] = { 0, 1 };
	uint32_t before = look(w);
	(void)state;
	assert_int_equal(look(w), before);
	write_file(w->path, bytes, n - 1);
	uint32_t now = look(w);
	assert_int_not_equal(now, before);
	assert_int_equal(look(w), now);
	assert_non_null(module_by_id(&w->table, (struct module_id){ before }));
	module_table_prune(&w->table, used);
	assert_int_equal(look(w), now);
	assert_null(module_by_id(&w->table, (struct module_id){ before }));
	free(bytes);
	end(w);
}

/* Its number is free by now. */
static uint32_t ended_process(void)
{
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return (uint32_t)pid;
}

static void put_another(const char *path)
{
	char beside[80];
	snprintf(beside, sizeof(beside), "%s.new", path);
	write_file(beside, "another", 7);
	assert_int_equal(rename(beside, path), 0);
}

static const struct open_module *look_past(struct world *w, uint32_t tgid)
{
	w->line.past = true;
	const struct open_module *o = module_of(&w->table, w->catalog, tgid, &w->line);
	assert_non_null(o);
	return o;
}

/* Its folder in /proc is gone with it: there is only the plain path. */
static void test_file_of_an_ended_process(void **state)
{
	size_t n;
	char *bytes = read_self(&n);
	struct world *w = begin(bytes, n);
	uint32_t tgid = ended_process();
	struct stat st;
	(void)state;
	const struct open_module *o = look_past(w, tgid);
	assert_true(o->fd >= 0);
	assert_int_equal(fstat(o->fd, &st), 0);
	assert_int_equal(st.st_ino, w->line.ino);
	assert_int_equal(st.st_dev, w->line.dev);
	assert_non_null(o->elf);
	uint32_t id = o->id.n;
	assert_int_equal(look_past(w, tgid)->id.n, id);
	free(bytes);
	end(w);
}

/* It is not reported, and has no effect on a process that maps the file in time. */
static void assert_unnamed(struct world *w, uint32_t tgid)
{
	const struct open_module *o = look_past(w, tgid);
	uint32_t id = o->id.n;
	assert_true(o->fd < 0);
	assert_null(o->elf);
	assert_int_equal(catalog_module(w->catalog, o->id)->build_id_sz, 0);
	assert_int_not_equal(look_past(w, tgid)->id.n, id);
	assert_int_equal(w->table.closed.cnt, 0);
}

static void test_another_file_in_its_place(void **state)
{
	struct world *w = begin("text", 4);
	(void)state;
	put_another(w->path);
	assert_unnamed(w, ended_process());
	/* Nor where the process is there, but has it mapped no more. */
	assert_unnamed(w, (uint32_t)getpid());
	end(w);
}

/* A number that another file system gave, too. */
static void test_inode_of_another_device(void **state)
{
	struct world *w = begin("text", 4);
	(void)state;
	w->line.dev++;
	assert_unnamed(w, ended_process());
	assert_unnamed(w, (uint32_t)getpid());
	w->line.past = false;
	assert_int_equal(module_open((uint32_t)getpid(), &w->line), -ESTALE);
	end(w);
}

struct sought {
	uint64_t at;
	struct map_line found;
};

static int take_line(void *ctx, const struct map_line *line)
{
	struct sought *s = ctx;
	if (line->start != s->at)
		return 0;
	s->found = *line;
	return 1;
}

/* As the kernel lists it, not as stat calls it. */
static struct map_line line_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	struct sought s = { .at = (uint64_t)at };
	struct err err;
	assert_true(at != MAP_FAILED);
	close(fd);
	assert_int_equal(proc_each_map((uint32_t)getpid(), take_line, &s, &err), 1);
	munmap(at, 1);
	s.found.path = path;
	s.found.start = s.found.end = 0; /* map_files cannot be read */
	return s.found;
}

/* Of two file systems: these are numbered anew. The file is from the lower one. */
static void overlay_in(const char *folder)
{
	char path[4][128], options[512], file[160];
	static const char *const parts[] = { "low", "up", "work", "all" };
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("test", folder, "tmpfs", 0, NULL), 0);
	for (int i = 0; i < 4; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s", folder, parts[i]);
		assert_int_equal(mkdir(path[i], 0700), 0);
	}
	assert_int_equal(mount("test", path[0], "tmpfs", 0, NULL), 0);
	snprintf(file, sizeof(file), "%s/file", path[0]);
	write_file(file, "text", 4);
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", path[0], path[1], path[2]);
	assert_int_equal(mount("test", path[3], "overlay", 0, options), 0);
}

static void look_through_overlay(const char *folder)
{
	char path[128];
	struct stat st;
	overlay_in(folder);
	snprintf(path, sizeof(path), "%s/all/file", folder);
	struct map_line line = line_of(path);
	int fd = module_open((uint32_t)getpid(), &line);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_dev != line.dev || st.st_ino != line.ino);
	close(fd);
	put_another(path);
	assert_int_equal(module_open((uint32_t)getpid(), &line), -ESTALE);
}

/* In containers, files have numbers of their own. */
static void test_overlay(void **state)
{
	char folder[] = "/tmp/alys-overlay-XXXXXX";
	int status;
	(void)state;
	assert_non_null(mkdtemp(folder));
	pid_t pid = fork();
	if (!pid) {
		/* Without root, a user namespace gives the right to mount. */
		if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
			_exit(77);
		look_through_overlay(folder);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(folder);
	assert_int_equal(status, 0);
}

/* Opening one may block for ever, or have an effect. */
static void test_no_regular_file_in_its_place(void **state)
{
	struct world *w = begin("text", 4);
	struct stat st;
	(void)state;
	unlink(w->path);
	assert_unnamed(w, ended_process());
	assert_int_equal(mkfifo(w->path, 0600), 0);
	assert_int_equal(stat(w->path, &st), 0);
	w->line.ino = st.st_ino;
	assert_unnamed(w, ended_process());
	assert_unnamed(w, (uint32_t)getpid());
	end(w);
}

/* Of whom it was unnamed: the next one is seen in time. */
static void test_file_that_comes_back(void **state)
{
	struct world *w = begin("text", 4);
	char aside[80];
	(void)state;
	snprintf(aside, sizeof(aside), "%s.aside", w->path);
	assert_int_equal(rename(w->path, aside), 0);
	assert_unnamed(w, ended_process());
	assert_int_equal(rename(aside, w->path), 0);
	w->line.past = false;
	uint32_t id = look(w);
	assert_int_equal(look(w), id);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forgotten_modules_leave_nothing), cmocka_unit_test(test_written_anew),
		cmocka_unit_test(test_file_of_an_ended_process),        cmocka_unit_test(test_another_file_in_its_place),
		cmocka_unit_test(test_inode_of_another_device),         cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_no_regular_file_in_its_place),    cmocka_unit_test(test_file_that_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
