/* target/module: files of traced processes, over time. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forgotten_modules_leave_nothing),
		cmocka_unit_test(test_written_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
