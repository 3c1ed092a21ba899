/* target: processes come, execute others, end: what is held of them is let go. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target.h"

static void on_module(void *ctx, const struct proc *p, const struct module *m, int fd)
{
	(void)ctx, (void)p, (void)m, (void)fd;
}

static void on_proc(void *ctx, const struct proc *p)
{
	(void)ctx, (void)p;
}

static void on_mapping(void *ctx, const struct mapping *map, const struct module *m)
{
	(void)ctx, (void)map, (void)m;
}

static void on_translated(void *ctx, const struct proc *p, const char *name)
{
	(void)ctx, (void)p, (void)name;
}

static const struct target_ops ops = {
	.on_module = on_module, .on_proc = on_proc, .on_mapping = on_mapping, .on_maps = on_proc,
	.on_translated = on_translated,
};

static size_t open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A recording of a build sees thousands of programs begin, each in place of a shell's child. */
static void test_execs_leave_no_descriptors(void **state)
{
	struct catalog *c = catalog_new();
	struct target_table *t = target_new(c, &ops);
	uint32_t self = (uint32_t)getpid();
	struct err err = { 0 };
	(void)state;
	struct proc_id first = target_add(t, self, (struct proc_id){ 0 }, &err), last = first;
	assert_int_not_equal(first.n, 0);
	assert_true(target_alive(t, first));
	size_t before = open_descriptors();
	for (int i = 0; i < 20; i++)
		last = target_exec(t, self, UINT64_MAX);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(target_find(t, self).n, last.n);
	assert_true(target_alive(t, last));
	assert_false(target_alive(t, first));
	assert_int_equal(target_count(t), 1);
	target_gone(t, self);
	assert_int_equal(open_descriptors(), before - 1);
	assert_int_equal(target_count(t), 0);
	target_free(t);
	catalog_free(c);
}

/* That is not the process' fault. */
static void test_too_many_files(void **state)
{
	struct catalog *c = catalog_new();
	struct target_table *t = target_new(c, &ops);
	struct rlimit was, none = { 0 };
	struct err err = { 0 };
	(void)state;
	struct proc_id id = target_add(t, (uint32_t)getpid(), (struct proc_id){ 0 }, &err);
	assert_int_not_equal(id.n, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int rc = target_read_maps(t, id, UINT64_MAX, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(rc, -EMFILE);
	assert_non_null(strstr(err.text, "ulimit -n"));
	target_free(t);
	catalog_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many_files),
		cmocka_unit_test(test_execs_leave_no_descriptors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
