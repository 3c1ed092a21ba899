/* SPDX-License-Identifier: Apache-2.0 */
/* broker: what it does for valid requests of a collector, and for any others. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/handover.h"
#include "access/rights.h"
#include "base/log.h"
#include "broker/broker.h"
#include "sandbox/caps.h"

#define PATIENCE_S 120
#define WORDS_SZ ((size_t)3 << 20) /* more than one packet */
/* Exit statuses beside those of the tests. */
enum { CANNOT_SPLIT = 100, KILLED, NO_NAMES, NOBODY_IS_NOBODY /* in a user namespace there may be no other user */ };

static struct {
	char dir[64], secret[80], elf[80], core[80], pipe[80], link[80];
	uint64_t run[2], data[2], text[2],
		stack[2]; /* where the broker has mapped: its own code, its data, a text file, its stack */
	int opened;       /* tells of the pipe's opening */
	bool maps;        /* map_files can be opened here */
} place;

/* In the broker's memory. */
static char *words;

static uint32_t broker_pid(void)
{
	return (uint32_t)getppid();
}

/* 0, or why not. */
static int result(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int mapped(const uint64_t at[2])
{
	return result(rights_mapped(broker_pid(), at[0], at[1]));
}

static int file(const char *path)
{
	return result(rights_file(broker_pid(), path));
}

static int64_t memory(const void *at, size_t n, void *out)
{
	const struct rights_range r = { (uintptr_t)at, n };
	return rights_memory(broker_pid(), &r, 1, out);
}

/* By the broker only: this process may not open it itself. */
static int fact(enum rights_fact what)
{
	return result(rights_delegated()->fact(rights_delegated()->ctx, broker_pid(), what));
}

static bool was_opened(void)
{
	char event[256];
	return read(place.opened, event, sizeof(event)) > 0;
}

/* All return the first error, 0 = none. */

static int is_given_files(const struct broker *b)
{
	char exe[4096], self[4096];
	int n = rights_exe(broker_pid(), exe, sizeof(exe));
	(void)b;
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	return result(rights_maps(broker_pid()))         ? 1
	       : n <= 0 || strncmp(exe, self, (size_t)n) ? 2
	       : place.maps && mapped(place.run)         ? 3
	       : file(self)                              ? 4
							 : 0;
}

static int is_refused_other_files(const struct broker *b)
{
	char path[128];
	(void)b;
	snprintf(path, sizeof(path), "/proc/%u/environ", broker_pid());
	return file("/etc/shadow") >= 0                                               ? 1
	       : file("/etc/passwd") != -ENOEXEC                                      ? 2
	       : file(path) != -ENOEXEC                                               ? 3
	       : file("/proc/self/mem") != -EIO && file("/proc/self/mem") != -ENOEXEC ? 4
	       : file(place.secret) != -ENOEXEC                                       ? 5
	       : file(place.elf) != -ESTALE                                           ? 6
	       : file(place.core) != -ENOEXEC                                         ? 7
	       : file("/dev/null") != -ENODEV                                         ? 8
	       : file("/tmp") != -ENODEV                                              ? 9
	       : file("/proc/self/fd/0") >= 0                                         ? 10
	       : file("../../etc/shadow") >= 0                                        ? 11
	       : file("") >= 0                                                        ? 12
	       : file("/no/such/file") != -ENOENT                                     ? 13
	       : place.maps && mapped(place.text) != -ENOEXEC                         ? 14
	       : mapped(place.data) >= 0                                              ? 15
	       : mapped((uint64_t[]){ 0, UINT64_MAX }) >= 0                           ? 16
	       : fact(FACT_SMAPS) >= 0                                                ? 17
	       : fact(FACT_PAGEMAP) >= 0                                              ? 18
										      : 0;
}

/* A name that changes from one file to another: the opened file is what is checked. */
static int is_not_raced(const struct broker *b)
{
	char self[4096], other[100];
	(void)b;
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	snprintf(other, sizeof(other), "%s/other", place.dir);
	pid_t swapper = fork();
	while (!swapper) {
		(void)!symlink(self, other), rename(other, place.link);
		(void)!symlink(place.secret, other), rename(other, place.link);
		(void)!symlink(place.elf, other), rename(other, place.link);
	}
	int wrong = 0;
	for (int i = 0; i < 3000 && !wrong; i++) {
		char head[4] = "";
		struct stat st, own;
		int fd = rights_file(broker_pid(), place.link);
		if (fd >= 0)
			wrong = pread(fd, head, 4, 0) != 4 || memcmp(head, "\177ELF", 4)        ? 1
				: fstat(fd, &st) || stat(self, &own) || st.st_ino != own.st_ino ? 2
												: 0;
		result(fd);
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	return wrong;
}

static int is_given_memory(const struct broker *b)
{
	static char large[WORDS_SZ];
	char text[8] = "";
	const struct rights_range two[] = { { (uintptr_t)words, 2 }, { (uintptr_t)words + 3, 2 } };
	(void)b;
	return memory(words, 6, text) != 6 || memcmp(text, "secret", 6)                                               ? 1
	       : rights_memory(broker_pid(), two, 2, text) != 4 || memcmp(text, "sere", 4)                            ? 2
	       : memory(words, sizeof(large), large) != sizeof(large) || memcmp(large + sizeof(large) - 4, "last", 4) ? 3
														      : 0;
}

/* A heap that grows: memory mapped since the broker's last check. */
static int is_given_new_memory(const struct broker *b)
{
	int ask[2], said[2], wrong = 0;
	(void)b;
	pid_t child = pipe(ask) || pipe(said) ? -1 : fork();
	for (char byte; !child && read(ask[0], &byte, 1) == 1;) {
		char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void)!write(said[1], &at, strcpy(at, "newer") ? sizeof(at) : 0);
	}
	for (int i = 1; child > 0 && i <= 20 && !wrong; i++) {
		char text[6] = "", *at;
		bool told = write(ask[1], "g", 1) == 1 && read(said[0], &at, sizeof(at)) == sizeof(at);
		const struct rights_range r = { (uintptr_t)at, sizeof(text) };
		wrong = !told || rights_memory((uint32_t)child, &r, 1, text) != sizeof(text) || strcmp(text, "newer") ? i : 0;
	}
	if (child <= 0)
		return -1;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return wrong;
}

static int is_refused_other_memory(const struct broker *b)
{
	char text[64];
	const struct rights_range both[] = { { (uintptr_t)words, 2 }, { place.stack[0], 2 } };
	(void)b;
	return memory((void *)(place.stack[1] - 64), 64, text) != -EFAULT ? 1
	       : memory(environ[0], 8, text) != -EFAULT                   ? 2
	       : memory((void *)place.text[0], 8, text) != -EFAULT        ? 3
	       : memory(b->window, 8, text) != -EFAULT                    ? 4
	       : memory((void *)-64ul, 128, text) != -EFAULT              ? 5
	       : memory(NULL, 8, text) != -EFAULT                         ? 6
	       : rights_memory(broker_pid(), both, 2, text) != 2          ? 7
									  : 0;
}

/* What may be at /tmp/perf-PID.map, and the answer to a request for it. */
static const struct named {
	const char *what;
	int expected;
} names[] = { { "nothing", -ENOENT },   { "own", 0 },       { "another's", -EACCES }, { "link", -ENODEV },
	      { "hard link", -EACCES }, { "pipe", -ENODEV } };

static const struct named *named = names;

static bool make_names(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path); /* of an earlier process with this number */
	if (!strcmp(named->what, "nothing"))
		return true;
	if (!strcmp(named->what, "link"))
		return !symlink(place.secret, path);
	if (!strcmp(named->what, "hard link"))
		return !link(place.secret, path);
	if (!strcmp(named->what, "pipe"))
		return !mkfifo(path, 0600);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	close(fd);
	return fd >= 0 && (strcmp(named->what, "another's") || !chown(path, 1, 1));
}

static void remove_names(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
}

static int is_given_names_of_its_user(const struct broker *b)
{
	int n = rights_place(PLACE_OPEN, (int)broker_pid());
	(void)b;
	return n <= 0                                                  ? 1
	       : result(rights_place(PLACE_MAP, n)) != named->expected ? 2
	       : rights_place(PLACE_SHARE, n) != n                     ? 3
	       : rights_place(PLACE_CLOSE, n)                          ? 4
	       : result(rights_place(PLACE_MAP, n)) != named->expected ? 5
	       : rights_place(PLACE_CLOSE, n)                          ? 6
	       : rights_place(PLACE_MAP, n) != -EBADF                  ? 7
	       : rights_place(PLACE_MAP, 0) != -EBADF || rights_place(PLACE_MAP, -1) != -EBADF ||
			       rights_place(PLACE_MAP, 1 << 30) != -EBADF
		       ? 8
		       : 0;
}

static int leaves_pipes_alone(const struct broker *b)
{
	(void)b;
	return file(place.pipe) != -ENODEV ? 1 : was_opened() ? 2 : 0;
}

/* --- packets that rights.h would not make --------------------------------------------------------- */

static int says(const struct broker *b, const void *bytes, size_t n, int fd, char *why)
{
	static char answer[8192];
	int32_t rc = 1;
	int got = -1;
	if (handover_send(b->sock, bytes, n, fd, 0))
		return 1;
	ssize_t len = handover_receive(b->sock, answer, sizeof(answer), &got);
	if (len < (ssize_t)sizeof(rc))
		return 1;
	memcpy(&rc, answer, sizeof(rc));
	if (why)
		snprintf(why, 200, "%.199s", len > (ssize_t)sizeof(rc) ? answer + sizeof(rc) : "");
	return got >= 0 ? 1 : rc;
}

/* Valid heads of every kind of request, with random bodies. */
static bool refuses_nonsense(const struct broker *b)
{
	static const uint8_t fills[] = { 1, '/', 0xff };
	static uint8_t bytes[60000];
	bool refused = true;
	for (size_t n = 1; n < sizeof(bytes); n = n * 3 + 1) {
		for (uint32_t i = 0; i < 17 * sizeof(fills); i++) {
			uint32_t wish = i / sizeof(fills);
			memset(bytes, fills[i % sizeof(fills)], n);
			memcpy(bytes, &wish, n < sizeof(wish) ? n : sizeof(wish));
			refused &= says(b, bytes, n, -1, NULL) < 0;
		}
	}
	return refused;
}

static int survives_nonsense(const struct broker *b)
{
	return !refuses_nonsense(b) ? 1 : rights_tracepoint("no_such", 0) >= 0 ? 2 : result(rights_maps(broker_pid())) ? 3 : 0;
}

/* The layout of a link's packet. */
struct link_words {
	uint32_t type, flags;
	uint64_t offset, counter; /* 0 = none */
};

static int counted_link_of(const struct broker *b, uint32_t tid, int fd, const struct link_words *l, char *why)
{
	static struct {
		uint32_t wish;
		int32_t number;
		uint32_t tid, cnt, type, flags;
		uint64_t offsets[2048], cookies[2048], counters[256];
		uint32_t counters_cnt, pad;
	} a;
	a.wish = 7;
	a.tid = tid;
	a.cnt = 1;
	a.type = l->type;
	a.flags = l->flags;
	a.offsets[0] = l->offset;
	a.counters_cnt = l->counter != 0;
	a.counters[0] = l->counter;
	return says(b, &a, sizeof(a), fd, why);
}

static int link_of(const struct broker *b, uint32_t tid, int fd, uint32_t type, uint32_t flags, uint64_t offset, char *why)
{
	const struct link_words l = { type, flags, offset, 0 };
	return counted_link_of(b, tid, fd, &l, why);
}

/* File offset of an ELF file's code. */
static uint64_t code_of(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr p = { 0 };
	bool read_ok = pread(fd, &head, sizeof(head), 0) == sizeof(head);
	for (unsigned i = 0; read_ok && i < head.e_phnum && !(p.p_type == PT_LOAD && p.p_flags & PF_X); i++)
		read_ok = pread(fd, &p, sizeof(p), (off_t)(head.e_phoff + i * sizeof(p))) == sizeof(p);
	return p.p_offset;
}

static int is_refused_probes(const struct broker *b)
{
	char why[200];
	int own = open("/proc/self/exe", O_RDONLY), elf = open(place.elf, O_RDONLY), dir = open("/proc", O_RDONLY | O_DIRECTORY);
	int place_only = open("/proc/self/exe", O_PATH);
	uint32_t p = broker_pid();
	const struct link_words in_code = { 48, 0, code_of(own), code_of(own) };
	return counted_link_of(b, p, own, &in_code, why) >= 0 || !strstr(why, "not on code")                       ? 10
	       : link_of(b, p, dir, 48, 0, 64, why) >= 0 || !strstr(why, "not on code")                            ? 1
	       : link_of(b, p, place_only, 48, 0, 64, why) >= 0 || !strstr(why, "not on code")                     ? 2
	       : link_of(b, p, b->sock, 48, 0, 64, why) >= 0 || !strstr(why, "not on code")                        ? 3
	       : link_of(b, p, own, 48, 0, 0, why) >= 0 || !strstr(why, "not on code")                             ? 4
	       : link_of(b, p, own, 48, 0, 1ull << 40, why) >= 0 || !strstr(why, "not on code")                    ? 5
	       : link_of(b, p, own, 48, 2, 4096, why) >= 0 || !strstr(why, "not a probe")                          ? 6
	       : link_of(b, p, own, 1, 0, 4096, why) >= 0 || !strstr(why, "not a probe")                           ? 7
	       : link_of(b, p, elf, 48, 0, code_of(elf), why) != -ESTALE || !strstr(why, "does not run this file") ? 8
	       : link_of(b, p, -1, 48, 0, 4096, why) >= 0 || !strstr(why, "malformed request")                     ? 9
														   : 0;
}

/* A process that ended, even during the request, is reported as ended, not as refused. */
static int is_told_of_ends(const struct broker *b)
{
	char why[200], self[4096];
	int own = open("/proc/self/exe", O_RDONLY), wrong = 0;
	uint64_t code = code_of(own);
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	for (int i = 0; i < 1000 && !wrong; i++) {
		pid_t brief = fork();
		if (!brief)
			_exit(0);
		/* It runs, is exiting, or has ended; its parent cannot know which. */
		int link = link_of(b, (uint32_t)brief, own, 48, 0, code, why), given = result(rights_file((uint32_t)brief, self));
		wrong = link == -EACCES || link == -ESTALE || why[0] ? 1 : given && given != -ENOENT && given != -ESRCH ? 2 : 0;
		if (!i) {
			siginfo_t info;
			waitid(P_PID, (id_t)brief, &info, WEXITED | WNOWAIT);
			link = link_of(b, (uint32_t)brief, own, 48, 0, code, why);
			wrong = wrong ?: link != -ESRCH || why[0] ? 3 : 0;
		}
		waitpid(brief, NULL, 0);
		wrong = wrong ?: !i && (link_of(b, (uint32_t)brief, own, 48, 0, code, why) != -ESRCH || why[0]) ? 4 : 0;
	}
	return wrong;
}

static int is_refused_other_tables(const struct broker *b)
{
	(void)b;
	return rights_tracepoint("sys_enter", 0) != -EACCES ? 1
	       : rights_array("alys_chunk", 8) != -EACCES   ? 2
	       : rights_array("other", 64 << 20) != -EACCES ? 3
	       : rights_faults(0, 0) != -EACCES             ? 4
							    : 0;
}

static bool about_pages;

static int is_told_of_pages(const struct broker *b)
{
	uint8_t there[2] = { 7, 7 };
	const uint64_t at[2] = { (uintptr_t)there, 0x1000 };
	(void)b;
	return rights_present(broker_pid(), at, 2, there)         ? 1
	       : there[0] != 1 || there[1] != 0                   ? 2
	       : rights_tracepoint("sys_enter", -1) == -EACCES    ? 3
	       : rights_tracepoint("sched_switch", -1) != -EACCES ? 4
	       : fact(FACT_PAGEMAP) >= 0                          ? 5
	       : rights_faults(0, -1) != -EBADF                   ? 6
								  : 0;
}

static int is_not_told_of_pages(const struct broker *b)
{
	uint8_t there;
	const uint64_t at = (uintptr_t)&there;
	(void)b;
	return rights_present(broker_pid(), &at, 1, &there) != -EPROTO ? 1 : 0;
}

static int is_told_why(const struct broker *b)
{
	struct {
		uint32_t wish;
		int32_t number;
		uint32_t tid, cnt, type, flags;
		char path[sizeof(place.elf)];
	} a = { .wish = 4, .tid = broker_pid(), .path = "/etc/passwd" };
	char why[200];
	if (says(b, &a, sizeof(a), -1, why) != -ENOEXEC || !strstr(why, "is refused: not an ELF program or library"))
		return 1;
	snprintf(a.path, sizeof(a.path), "%s", place.elf);
	if (says(b, &a, sizeof(a), -1, why) != -ESTALE || !strstr(why, "has not mapped it executable"))
		return 2;
	a.wish = 99;
	return says(b, &a, sizeof(a), -1, why) != -EPROTO || !strstr(why, "malformed request") ? 3 : 0;
}

static int has_nothing_left(const struct broker *b)
{
	return !b->pid && !caps_has(CAP_BPF) && !caps_has(CAP_SYS_PTRACE) && !caps_has(CAP_SETUID) && getuid() && getgid() ? 0
															   : 1;
}

/* --- the broker's files and memory ---------------------------------------------------------------- */

/* From /proc/self/maps: the mapping of this path prefix and these rights. */
static bool find_mapping(const char *path, const char *rights, uint64_t out[2])
{
	char line[512], has[8];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		int at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &out[0], &out[1], has, &at) == 3 && at)
			found = !strncmp(line + at, path, strlen(path)) && !strcmp(has, rights);
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	bool wrote = write(fd, bytes, n) == (ssize_t)n;
	close(fd);
	return wrote;
}

static bool make_files(void)
{
	char self[4096];
	Elf64_Ehdr head;
	int fd = open("/proc/self/exe", O_RDONLY);
	size_t n = (size_t)lseek(fd, 0, SEEK_END);
	void *all = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	bool made = all != MAP_FAILED && write_file(place.elf, all, n) && write_file(place.secret, "a secret", 8);
	memcpy(&head, all, sizeof(head));
	head.e_type = ET_CORE;
	munmap(all, n);
	close(fd);
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	fd = open(place.secret, O_RDONLY);
	void *text = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return made && text != MAP_FAILED && write_file(place.core, &head, sizeof(head)) && !mkfifo(place.pipe, 0600) &&
	       find_mapping(self, "r-xp", place.run) && find_mapping(place.secret, "r--p", place.text) &&
	       find_mapping("[stack]", "rw-p", place.stack);
}

static bool make_place(void)
{
	strcpy(place.dir, "/tmp/broker-XXXXXX");
	if (!mkdtemp(place.dir) || chmod(place.dir, 0777))
		return false;
	snprintf(place.secret, sizeof(place.secret), "%s/secret", place.dir);
	snprintf(place.elf, sizeof(place.elf), "%s/elf", place.dir);
	snprintf(place.core, sizeof(place.core), "%s/core", place.dir);
	snprintf(place.pipe, sizeof(place.pipe), "%s/pipe", place.dir);
	snprintf(place.link, sizeof(place.link), "%s/link", place.dir);
	words = mmap(NULL, WORDS_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (words == MAP_FAILED)
		return false;
	strcpy(words, "secret");
	memcpy(words + WORDS_SZ - 4, "last", 4);
	place.data[0] = (uintptr_t)words;
	place.data[1] = place.data[0] + WORDS_SZ;
	bool made = make_files();
	place.opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	/* Other processes may have taken all places. */
	made = made && (place.opened < 0 || inotify_add_watch(place.opened, place.pipe, IN_OPEN) >= 0);
	place.maps = caps_has(CAP_CHECKPOINT_RESTORE);
	return made;
}

static void remove_place(void)
{
	const char *const paths[] = { place.secret, place.elf, place.core, place.pipe, place.link };
	char other[100];
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		unlink(paths[i]);
	snprintf(other, sizeof(other), "%s/other", place.dir);
	unlink(other);
	munmap(words, WORDS_SZ);
	munmap((void *)place.text[0], 4096);
	close(place.opened);
	rmdir(place.dir);
}

/* Broker and collector, in processes of their own. */
static int live(int (*does)(const struct broker *b))
{
	struct broker b = { .writable = -1, .pages = about_pages };
	struct err err;
	sigset_t none;
	sigemptyset(&none);
	alarm(PATIENCE_S);
	log_set_level(LOG_QUIET);
	broker_choose_user(&b);
	if (!make_names())
		return NO_NAMES;
	if (broker_split(&b, &err))
		return err.code == EINVAL ? NOBODY_IS_NOBODY : CANNOT_SPLIT;
	if (!b.pid)
		_exit(does(&b));
	int status = broker_serve(&b, signalfd(-1, &none, SFD_NONBLOCK));
	remove_names();
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

#define TEST(name, does)               \
	static void name(void **state) \
	{                              \
		(void)state;           \
		expect_fine(does);     \
	}

TEST(test_files, is_given_files)
TEST(test_other_files, is_refused_other_files)
TEST(test_races, is_not_raced)
TEST(test_memory, is_given_memory)
TEST(test_new_memory, is_given_new_memory)
TEST(test_other_memory, is_refused_other_memory)
TEST(test_pipes, leaves_pipes_alone)
TEST(test_nonsense, survives_nonsense)
TEST(test_probes, is_refused_probes)
TEST(test_tables, is_refused_other_tables)
TEST(test_sentences, is_told_why)

static void test_pages(void **state)
{
	(void)state;
	expect_fine(is_not_told_of_pages);
	about_pages = true;
	expect_fine(is_told_of_pages);
	about_pages = false;
}

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		named = &names[i];
		/* Only root gives files away. */
		if (!strcmp(named->what, "another's") && geteuid())
			continue;
		expect_fine(is_given_names_of_its_user);
	}
	named = names;
}

static void test_ends(void **state)
{
	(void)state;
	/* Without it no other process is read. */
	if (!caps_has(CAP_SYS_PTRACE))
		skip();
	expect_fine(is_told_of_ends);
}

static void test_no_rights(void **state)
{
	(void)state;
	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SETGID))
		skip();
	expect_fine(has_nothing_left);
}

/* Where it cannot be split: 0, or what is wrong. */
static int stays_alone(void)
{
	struct broker b = { .writable = -1 };
	struct err err;
	bool root = caps_has(CAP_SETUID);
	broker_choose_user(&b);
	if (broker_stay_alone(&b, &err))
		return CANNOT_SPLIT;
	static const int gone[] = { CAP_NET_ADMIN,        CAP_SYS_MODULE, CAP_SYS_BOOT, CAP_FOWNER,
				    CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_MKNOD };
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		if (caps_has(gone[i]))
			return 1;
	}
	return root && !caps_has(CAP_SYS_PTRACE)                           ? 2
	       : prctl(PR_GET_SECCOMP) != -1 && prctl(PR_GET_SECCOMP) != 2 ? 3
	       : prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1               ? 4
									   : 0;
}

static void test_alone(void **state)
{
	int status = 0;
	(void)state;
	pid_t pid = fork();
	if (!pid)
		_exit(stays_alone());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),  cmocka_unit_test(test_other_files), cmocka_unit_test(test_races),
		cmocka_unit_test(test_memory), cmocka_unit_test(test_new_memory),  cmocka_unit_test(test_other_memory),
		cmocka_unit_test(test_names),  cmocka_unit_test(test_pipes),       cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_probes), cmocka_unit_test(test_tables),      cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_ends),   cmocka_unit_test(test_pages),       cmocka_unit_test(test_no_rights),
		cmocka_unit_test(test_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
