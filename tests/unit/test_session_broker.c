/* session/broker: what the broker does for a collector that asks for it, and for one that asks for anything else. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/caps.h"
#include "base/rights.h"
#include "session/broker.h"

#define PATIENCE_S 120
/* Exit statuses beside those of the tests. */
enum { CANNOT_SPLIT = 100, KILLED, NOBODY_IS_NOBODY /* in a user namespace there may be no other user */ };

static struct {
	char dir[64], file[80], pipe[80], mapped[64]; /* the last one below /proc/PID/ */
	int opened; /* tells of the pipe's opening */
	bool maps;  /* map_files can be opened here */
} place;

/* The broker's own files: those a process without rights may open. */
static int ask_for(const char *rest, int flags)
{
	char path[160];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)getppid(), rest);
	return rights_open(path, flags);
}

static int read_only(const char *rest, int flags)
{
	char first;
	int fd = ask_for(rest, flags), rc = fd < 0 ? fd : 0;
	if (!rc && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		rc = -EROFS;
	if (!rc && !strstr(rest, "mem") && pread(fd, &first, 1, 0) != 1)
		rc = -EIO;
	close(fd);
	return rc;
}

static int below_root(const char *path, int flags)
{
	char rest[128];
	snprintf(rest, sizeof(rest), "root%s", path);
	int fd = ask_for(rest, flags);
	close(fd);
	return fd < 0 ? fd : 0;
}

static int read_link(const char *rest)
{
	char path[64], out[4096];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)getppid(), rest);
	int n = rights_read_link(path, out, sizeof(out));
	return n > 0 ? 0 : n;
}

static bool was_opened(void)
{
	char event[256];
	return read(place.opened, event, sizeof(event)) > 0;
}

/* All give what went wrong first, 0 = nothing. */

static int is_given_files(const struct broker *b)
{
	(void)b;
	return read_only("maps", O_RDONLY) ? 1 : read_only("mem", O_RDWR) ? 2 : below_root(place.file, O_RDWR) ? 3 :
	       place.maps && read_only(place.mapped, O_RDONLY) ? 4 : read_link("exe") ? 5 :
	       below_root("/tmp", O_PATH | O_DIRECTORY) ? 6 : 0;
}

static int is_refused_the_rest(const struct broker *b)
{
	(void)b;
	return rights_open("/etc/passwd", O_RDONLY) != -EACCES ? 1 : read_only("environ", O_RDONLY) != -EACCES ? 2 :
	       read_only("fd/0", O_RDONLY) != -EACCES ? 3 : read_only("maps/../environ", O_RDONLY) != -EACCES ? 4 :
	       below_root("/dev/null", O_RDONLY) != -EACCES ? 5 : below_root("/tmp", O_RDONLY) != -EACCES ? 6 :
	       below_root("/etc", O_PATH | O_DIRECTORY) != -EACCES ? 7 : read_link("cwd") != -EACCES ? 8 :
	       below_root("/no/such/file", O_RDONLY) != -ENOENT ? 9 : 0;
}

static int leaves_pipes_alone(const struct broker *b)
{
	(void)b;
	return below_root(place.pipe, O_RDONLY) != -EACCES ? 1 : was_opened() ? 2 : 0;
}

static int says(const struct broker *b, const void *bytes, size_t n)
{
	char answer[8192];
	int32_t rc = 1;
	if (send(b->sock, bytes, n, 0) != (ssize_t)n || recv(b->sock, answer, sizeof(answer), 0) != sizeof(rc))
		return 1;
	memcpy(&rc, answer, sizeof(rc));
	return rc;
}

/* Heads of every wish, bodies that are none of theirs. */
static bool refuses_nonsense(const struct broker *b)
{
	static const uint8_t fills[] = { 0, 1, '/', 0xff };
	static uint8_t bytes[30000];
	bool refused = true;
	for (size_t n = 1; n < sizeof(bytes); n = n * 3 + 1) {
		for (uint32_t i = 0; i < 8 * sizeof(fills); i++) {
			uint32_t wish = i / sizeof(fills);
			bool sound = wish == 6 && !fills[i % sizeof(fills)]; /* what the first CPU maps */
			memset(bytes, fills[i % sizeof(fills)], n);
			memcpy(bytes, &wish, n < sizeof(wish) ? n : sizeof(wish));
			refused &= sound || says(b, bytes, n) < 0;
		}
	}
	return refused;
}

static int survives_nonsense(const struct broker *b)
{
	const struct rights_link link = { .prog_fd = 0, .file_fd = b->sock, .cnt = 1, .offsets = &(uint64_t){ 1 }, .cookies = &(uint64_t){ 1 } };
	struct rights_link many = link;
	many.cnt = 1 << 20;
	return !refuses_nonsense(b) ? 1 : rights_link(&link) >= 0 ? 2 : rights_link(&many) != -E2BIG ? 3 : rights_tracepoint("no_such", 0) >= 0 ? 4 :
	       read_only("maps", O_RDONLY) ? 5 : 0;
}

static int has_nothing_left(const struct broker *b)
{
	return !b->pid && !caps_has(CAP_BPF) && !caps_has(CAP_SYS_PTRACE) && !caps_has(CAP_SETUID) && getuid() && getgid() ? 0 : 1;
}

/* A file's, as /proc/self/maps has it. */
static bool find_mapping(char *out, size_t cap)
{
	char line[512];
	unsigned long start, end, inode = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !inode && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) != 3)
			inode = 0;
	}
	if (maps)
		fclose(maps);
	if (inode)
		snprintf(out, cap, "map_files/%lx-%lx", start, end);
	return inode;
}

static bool make_place(void)
{
	strcpy(place.dir, "/tmp/broker-XXXXXX");
	if (!mkdtemp(place.dir))
		return false;
	snprintf(place.file, sizeof(place.file), "%s/file", place.dir);
	snprintf(place.pipe, sizeof(place.pipe), "%s/pipe", place.dir);
	int fd = open(place.file, O_WRONLY | O_CREAT, 0600);
	bool made = write(fd, "x", 1) == 1 && !mkfifo(place.pipe, 0600);
	close(fd);
	place.opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	/* Others may have taken all there are. */
	made = made && (place.opened < 0 || inotify_add_watch(place.opened, place.pipe, IN_OPEN) >= 0);
	place.maps = caps_has(CAP_CHECKPOINT_RESTORE);
	return made && find_mapping(place.mapped, sizeof(place.mapped));
}

static void remove_place(void)
{
	close(place.opened);
	unlink(place.file);
	unlink(place.pipe);
	rmdir(place.dir);
}

/* Broker and collector, in processes of their own. */
static int live(int (*does)(const struct broker *b))
{
	struct broker b = { .writable = -1 };
	struct err err;
	sigset_t none;
	sigemptyset(&none);
	alarm(PATIENCE_S);
	broker_choose_user(&b);
	if (broker_split(&b, &err))
		return err.code == EINVAL ? NOBODY_IS_NOBODY : CANNOT_SPLIT;
	if (!b.pid)
		return does(&b);
	int status = broker_serve(&b, signalfd(-1, &none, SFD_NONBLOCK));
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static void expect_fine(int (*does)(const struct broker *b))
{
	int status = 0;
	assert_true(make_place());
	pid_t pid = fork();
	if (!pid)
		_exit(live(does));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	remove_place();
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOBODY_IS_NOBODY)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_files(void **state)
{
	(void)state;
	expect_fine(is_given_files);
}

static void test_nothing_else(void **state)
{
	(void)state;
	expect_fine(is_refused_the_rest);
}

static void test_pipes(void **state)
{
	(void)state;
	expect_fine(leaves_pipes_alone);
}

static void test_nonsense(void **state)
{
	(void)state;
	expect_fine(survives_nonsense);
}

static void test_no_rights(void **state)
{
	(void)state;
	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SETGID))
		skip();
	expect_fine(has_nothing_left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_nothing_else),
		cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_no_rights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
