/* SPDX-License-Identifier: Apache-2.0 */
/* access/environment: of a process' environment two variables leave the worker, and nobody can hold the reader up. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/environment.h"

#define WANTED "OTEL_SERVICE_NAME=till\0OTEL_RESOURCE_ATTRIBUTES=team=pay"
#define OTHER_USER 1
#define PAGES ((size_t)16 * 4096)

static char *const with_names[] = { "PASSWORD=hush", "OTEL_SERVICE_NAME=till", "OTEL_SERVICE_NAMES=no",
				    "OTEL_RESOURCE_ATTRIBUTES=team=pay", NULL };
static char *const without[] = { "PASSWORD=hush", "TOTEL_SERVICE_NAME=no", NULL };
static char *const empty[] = { NULL };

/* It ends with the test, also with one that failed. */
static pid_t fork_child(void)
{
	pid_t pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A process that has exec'ed with this environment. */
static pid_t start(char *const *environment, uid_t user)
{
	int ends[2];
	char byte;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork_child();
	if (!pid) {
		if (user && setresuid(user, user, user))
			_exit(1);
		execve("/bin/sleep", (char *[]){ "sleep", "1000", NULL }, environment);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The result for a process with this environment. */
static int result_of(char *const *environment, uid_t user, char *out)
{
	pid_t pid = start(environment, user);
	int n = environment_read((uint32_t)pid, out);
	end(pid);
	return n;
}

static void test_two_variables(void **state)
{
	char out[ENVIRONMENT_SZ],
		large[ENVIRONMENT_SZ + 32] = "OTEL_RESOURCE_ATTRIBUTES=", *too_large[] = { large, with_names[1], NULL };
	(void)state;
	assert_int_equal(result_of(with_names, 0, out), sizeof(WANTED));
	assert_memory_equal(out, WANTED, sizeof(WANTED));
	assert_int_equal(result_of(without, 0, out), 0);
	assert_int_equal(result_of(empty, 0, out), 0);
	memset(large + strlen(large), 'x', ENVIRONMENT_SZ);
	assert_int_equal(result_of(too_large, 0, out), strlen(with_names[1]) + 1);
	assert_string_equal(out, with_names[1]);
}

static void test_no_process(void **state)
{
	char out[ENVIRONMENT_SZ];
	pid_t pid = start(empty, 0);
	(void)state;
	end(pid);
	assert_int_equal(environment_read((uint32_t)pid, out), -ESRCH);
}

/* --- a file system whose only file is never read to its end -------------------------------------- */

static char place[] = "/tmp/alys-environment-XXXXXX";

static void answer(int device, uint64_t unique, const void *body, size_t n)
{
	struct {
		struct fuse_out_header head;
		char body[256];
	} a = { .head = { .len = (uint32_t)(sizeof(a.head) + n), .unique = unique } };
	memcpy(a.body, body, n);
	(void)!write(device, &a, a.head.len);
}

static void serve(int device)
{
	static char packet[1 << 17];
	const struct fuse_in_header *in = (const struct fuse_in_header *)packet;
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
	const struct fuse_attr_out attr = { .attr = { .ino = 1, .mode = S_IFREG | 0666, .nlink = 1, .size = PAGES } };
	const struct fuse_open_out opened = { 0 };
	while (read(device, packet, sizeof(packet)) > 0) {
		switch (in->opcode) {
		case FUSE_INIT: answer(device, in->unique, &init, sizeof(init)); break;
		case FUSE_GETATTR: answer(device, in->unique, &attr, sizeof(attr)); break;
		case FUSE_OPEN: answer(device, in->unique, &opened, sizeof(opened)); break;
		case FUSE_READ: break;
		default: answer(device, in->unique, NULL, 0);
		}
	}
}

/* Returns the server; when it ends, so do the reads. */
static pid_t mount_it(void)
{
	char options[100];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC), file = mkstemp(place);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0", device);
	close(file);
	if (device < 0 || mount("test", place, "fuse", 0, options)) {
		unlink(place);
		close(device);
		return -1;
	}
	pid_t pid = fork_child();
	if (!pid) {
		serve(device);
		_exit(0);
	}
	close(device);
	return pid;
}

/*
 * The kernel reads no environment from a mapped file. But this read of that file holds the lock of the process' mappings,
 * and once another thread waits to change them, nobody else gets it to read.
 */
static void *hold(void *file)
{
	char byte;
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	(void)!pread(memory, &byte, 1, (off_t)(uintptr_t)file);
	return NULL;
}

/* fstat: only after it the kernel knows the file's size. */
static void *map_file(void)
{
	struct stat st;
	int file = open(place, O_RDONLY | O_CLOEXEC);
	return fstat(file, &st) ? MAP_FAILED : mmap(NULL, PAGES, PROT_READ, MAP_PRIVATE, file, 0);
}

static pid_t start_slow(void)
{
	pthread_t thread;
	pid_t pid = fork_child();
	void *file = pid ? NULL : map_file();
	if (!pid)
		pthread_create(&thread, NULL, hold, file);
	while (!pid) {
		munmap(mmap(NULL, PAGES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGES);
		usleep(1000);
	}
	return pid;
}

/* Returns the first result that differs from `from`, or `from` after some time. */
static int result_after(int from, pid_t pid, char *out)
{
	int n = from;
	for (int i = 0; i < 10000 && (n == from || (n >= 0 && from >= 0)); i++, usleep(1000))
		n = environment_read((uint32_t)pid, out);
	return n;
}

/* Until the share of slow's user is used up, so that for some time no process of that user is read. */
static void use_up(pid_t slow, pid_t same)
{
	char out[ENVIRONMENT_SZ];
	do
		assert_int_equal(result_after(-ETIMEDOUT, slow, out), -EBUSY);
	while (environment_read((uint32_t)same, out) != -EBUSY);
}

/* Who holds the reader up loses names of its own processes, and of nobody else's. */
static void test_held_up(void **state)
{
	char out[ENVIRONMENT_SZ];
	pid_t server = mount_it();
	(void)state;
	if (server < 0)
		skip();
	pid_t innocent = start(with_names, OTHER_USER), same = start(with_names, 0);
	pid_t slow = start_slow();
	assert_int_equal(result_after(0, slow, out), -ETIMEDOUT);
	use_up(slow, same);
	/* On a busy machine any read may come too late. */
	assert_int_equal(result_after(-ETIMEDOUT, innocent, out), sizeof(WANTED));
	end(server);
	umount2(place, MNT_DETACH);
	unlink(place);
	end(slow);
	assert_int_equal(result_after(-EBUSY, same, out), sizeof(WANTED));
	end(same);
	end(innocent);
}

/* What takes part of the deadline only is paid for, too. */
static void test_share(void **state)
{
	char out[ENVIRONMENT_SZ];
	int n = 0;
	(void)state;
	if (geteuid()) /* cannot start another user's process */
		skip();
	pid_t pid = start(with_names, OTHER_USER);
	while (n >= 0 || n == -ETIMEDOUT)
		n = environment_read((uint32_t)pid, out);
	assert_int_equal(n, -EBUSY);
	pid_t other = start(with_names, 0);
	assert_int_equal(result_after(-ETIMEDOUT, other, out), sizeof(WANTED));
	end(other);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_variables),
		cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_held_up),
		cmocka_unit_test(test_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
