/* SPDX-License-Identifier: Apache-2.0 */
/* target: processes come, execute others, end: what is held of them is let go. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/reports.h"
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
	.on_module = on_module,
	.on_proc = on_proc,
	.on_mapping = on_mapping,
	.on_maps = on_proc,
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

/* Nothing of ours lies there. */
#define PLACE 0x1000000ull

static void tell(struct target_table *t, const char *path, uint64_t time_ns)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	const struct report report = {
		.tgid = (uint32_t)getpid(),
		.time_ns = time_ns,
		.line = { .start = PLACE,
			  .end = PLACE + 0x1000,
			  .dev = st.st_dev,
			  .ino = st.st_ino,
			  .readable = true,
			  .exec = true,
			  .past = true,
			  .path = path },
	};
	target_report(t, &report);
}

static const char *path_at(struct target_table *t, struct catalog *c, struct proc_id id)
{
	struct frame f;
	if (!target_resolve(t, id, PLACE + 8, &f))
		return "";
	return catalog_module(c, catalog_mapping(c, f.map)->module)->path;
}

/* A file mapped where another was is there from the time of its mapping, not from when that was reported. */
static void test_mapping_that_replaces_another(void **state)
{
	static const char first[] = "/bin/sh", second[] = "/bin/cat";
	struct catalog *c = catalog_new();
	struct target_table *t = target_new(c, &ops);
	struct err err = { 0 };
	(void)state;
	struct proc_id id = target_add(t, (uint32_t)getpid(), (struct proc_id){ 0 }, &err);
	tell(t, second, 20);
	tell(t, first, 10);
	tell(t, first, 30);
	assert_string_equal(path_at(t, c, id), "");
	uint32_t epoch = target_epoch(t, id);
	target_settle_one(t, id, 9);
	assert_string_equal(path_at(t, c, id), "");
	target_settle_one(t, id, 19);
	assert_string_equal(path_at(t, c, id), first);
	assert_int_equal(target_epoch(t, id), epoch);
	target_settle_one(t, id, 20);
	assert_string_equal(path_at(t, c, id), second);
	assert_int_equal(target_due(t), 30);
	target_settle(t, 29);
	assert_string_equal(path_at(t, c, id), second);
	assert_int_equal(target_epoch(t, id), epoch + 1);
	target_settle(t, 30);
	assert_string_equal(path_at(t, c, id), first);
	assert_int_equal(target_epoch(t, id), epoch + 2);
	assert_int_equal(target_due(t), UINT64_MAX);
	target_free(t);
	catalog_free(c);
}

/* Reports about a process are dropped when it ends. */
static void test_reports_end_with_their_process(void **state)
{
	struct catalog *c = catalog_new();
	struct target_table *t = target_new(c, &ops);
	struct err err = { 0 };
	uint32_t self = (uint32_t)getpid();
	(void)state;
	tell(t, "/bin/sh", 10); /* of no target yet */
	tell(t, "/bin/cat", 20);
	assert_int_equal(target_due(t), UINT64_MAX);
	target_add(t, self, (struct proc_id){ 0 }, &err);
	tell(t, "/bin/sh", 10);
	tell(t, "/bin/cat", 20);
	tell(t, "/bin/sh", 30);
	assert_int_equal(target_due(t), 20);
	struct proc_id id = target_exec(t, self, 20);
	assert_int_equal(target_due(t), 30);
	target_settle(t, 30);
	assert_string_equal(path_at(t, c, id), "/bin/sh");
	tell(t, "/bin/cat", 40);
	assert_int_equal(target_due(t), 40);
	target_gone(t, self);
	assert_int_equal(target_due(t), UINT64_MAX);
	target_free(t);
	catalog_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many_files),
		cmocka_unit_test(test_execs_leave_no_descriptors),
		cmocka_unit_test(test_mapping_that_replaces_another),
		cmocka_unit_test(test_reports_end_with_their_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
