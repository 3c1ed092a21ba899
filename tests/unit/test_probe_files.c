/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/files: numbers in the kernel's tables, however many files come and go; probe/detaching: which probes
 * still see calls.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/detaching.h"

#define SITES 30

/* A program of its own, with an allocator and a collector in it. */
static struct probed_file *put_file(struct files *f, uint64_t ino)
{
	const struct site_set like = { .digest = 10 };
	struct alys_gc_site site = { .vaddr = ino };
	struct probed_file *file = files_put(f, (struct probe_file){ .dev = 1, .ino = ino });
	uint32_t number;
	bool made;
	int rc;
	struct site_set *d = files_put_set(f, file, &like, &made, &rc);
	assert_non_null(d);
	for (size_t i = 0; i < SITES; i++)
		assert_int_equal(files_place(f, d, i, &number), 0);
	assert_int_equal(files_gc_place(f, file, &site, &number, &made), 0);
	return file;
}

/* As many programs as run once each in weeks. */
static void test_files_come_and_go(void **state)
{
	const struct probe_file stays = { .dev = 1, .ino = 1 };
	struct files f = { 0 };
	(void)state;
	assert_int_equal(files_init(&f), 0);
	put_file(&f, stays.ino);
	for (uint64_t ino = 2; ino < 20000; ino++) {
		put_file(&f, ino);
		put_file(&f, ino); /* once more: the same number */
		assert_int_equal(files_sites(&f), 2 * SITES);
		files_forget(&f, files_find(&f, (struct probe_file){ .dev = 1, .ino = ino }));
	}
	assert_non_null(files_find(&f, stays));
	assert_null(files_find(&f, (struct probe_file){ .dev = 1, .ino = 2 }));
	assert_int_equal(f.objects.cnt, ALYS_MAX_OBJECTS - 1);
	files_free(&f);
}

static void test_numbers_wait_long(void **state)
{
	struct numbers n;
	uint32_t one, other;
	(void)state;
	assert_int_equal(numbers_init(&n, 4), 0);
	assert_int_equal(numbers_take(&n, &one), 0);
	numbers_give(&n, one);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(numbers_take(&n, &other), 0);
		assert_int_not_equal(other, one);
	}
	assert_int_equal(numbers_take(&n, &other), 0);
	assert_int_equal(other, one);
	assert_int_equal(numbers_take(&n, &other), -ENOSPC);
	numbers_free(&n);
}

/* A trial that is over gets no new entries: they belong to no trial. */
static void test_ended_trials(void **state)
{
	const struct site_set trial = { .trial = true, .digest = 7 }, another = { .trial = true, .digest = 8 };
	struct files f = { 0 };
	bool made;
	int rc;
	(void)state;
	assert_int_equal(files_init(&f), 0);
	struct probed_file *file = put_file(&f, 1);
	struct site_set *first = files_put_set(&f, file, &trial, &made, &rc);
	assert_ptr_equal(files_put_set(&f, file, &trial, &made, &rc), first);
	assert_ptr_not_equal(files_put_set(&f, file, &another, &made, &rc), first);
	first->ended = 1;
	struct site_set *second = files_put_set(&f, file, &trial, &made, &rc);
	assert_true(made && second != first);
	assert_ptr_equal(files_set_of(&f, first->object), first);
	assert_ptr_equal(files_set_of(&f, second->object), second);
	files_free(&f);
}

/* Copies of one library are reported once, until the last of them is gone. */
static void test_equal_collectors(void **state)
{
	const struct alys_gc_site site = { .vaddr = 64 }, another = { .vaddr = 128 };
	struct files f = { 0 };
	uint32_t first, number;
	bool made;
	(void)state;
	assert_int_equal(files_init(&f), 0);
	struct probed_file *a = files_put(&f, (struct probe_file){ .dev = 1, .ino = 1 });
	struct probed_file *b = files_put(&f, (struct probe_file){ .dev = 1, .ino = 2 });
	assert_int_equal(files_gc_place(&f, a, &site, &first, &made), 0);
	assert_true(made);
	assert_int_equal(files_gc_place(&f, a, &site, &number, &made), 0);
	assert_int_equal(files_gc_place(&f, b, &site, &number, &made), 0);
	assert_false(made);
	assert_int_equal(number, first);
	files_forget(&f, a);
	assert_int_equal(files_gc_place(&f, b, &another, &number, &made), 0);
	assert_true(made && number != first);
	files_forget(&f, b);
	for (int i = 0; i < ALYS_MAX_GC_SITES; i++)
		assert_int_equal(f.gc_users[i], 0);
	files_free(&f);
}

/* A descriptor whose close blocks until the data that was sent is read from *reader. */
static int slow_to_close(int *reader)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger patient = { .l_onoff = 1, .l_linger = 600 };
	socklen_t len = sizeof(at);
	static const char junk[65536];
	int door = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(door, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(door, 1), 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(out, (struct sockaddr *)&at, sizeof(at)), 0);
	*reader = accept(door, NULL, NULL);
	assert_true(*reader >= 0);
	close(door);
	while (send(out, junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(out, SOL_SOCKET, SO_LINGER, &patient, sizeof(patient)), 0);
	return out;
}

static void read_all(int fd)
{
	static char junk[65536];
	while (read(fd, junk, sizeof(junk)) > 0)
		;
	close(fd);
}

/* Probes that are being detached still see calls: new ones at the same place must not count them twice. */
static void test_leaving(void **state)
{
	const struct probe_file file = { .dev = 1, .ino = 7 }, other = { .dev = 1, .ino = 8 };
	int readers[2];
	(void)state;
	struct attachment list[] = {
		{ .tgid = 5, .file = file, .fd = slow_to_close(&readers[0]) },
		{ .tgid = 0, .file = other, .fd = slow_to_close(&readers[1]) },
	};
	detaching_put(list, 2);
	assert_true(detaching_holds(file, 5));
	assert_true(detaching_holds(file, 0));
	assert_false(detaching_holds(file, 6));
	assert_true(detaching_holds(other, 6)); /* it sees all */
	detaching_await_of(file, 6);
	read_all(readers[0]);
	detaching_await_of(file, 5);
	assert_false(detaching_holds(file, 0));
	assert_true(detaching_holds(other, 0));
	read_all(readers[1]);
	detaching_await();
	assert_false(detaching_holds(other, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_come_and_go), cmocka_unit_test(test_numbers_wait_long),
		cmocka_unit_test(test_ended_trials),      cmocka_unit_test(test_equal_collectors),
		cmocka_unit_test(test_leaving),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
