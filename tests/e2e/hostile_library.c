/*
 * An allocator whose constructor tries everything that a library may not do where it is loaded to be tried, and
 * says on the helper's pipe what it could: "said there" are its words. PRIVATE and WORDS come from the test.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char heap[1 << 20];

void *malloc(size_t n)
{
	void *p = heap + n % 1000;
	asm volatile("jmp 1f; 1:" : "+a"(p)); /* an exit that the kernel emulates */
	return p;
}

static char done[160];

/* Its name goes into the words when it could be done. */
static void tried(const char *what, long result)
{
	if (result < 0)
		return;
	strncat(done, " ", sizeof(done) - strlen(done) - 1);
	strncat(done, what, sizeof(done) - strlen(done) - 1);
}

#define TRY(name, ...) tried(#name, syscall(SYS_##name, __VA_ARGS__))

static void try_reading(void)
{
	static const char *const files[] = { PRIVATE, "/etc/passwd", "/etc/shadow", "/proc/self/maps", "/proc/self/environ", "/proc/self/mem",
					     "/proc/self/root/etc/passwd", "/proc/self/cwd/x", "/proc/1/status", "/library/../etc/passwd",
					     "/dev/null", "/tmp", "/", "." };
	struct stat st;
	char text[64], handle[64] = { 32 };
	uint64_t how[3] = { O_RDONLY };
	int mount;
	snprintf(text, sizeof(text), "/proc/%d/maps", (int)getppid());
	tried("parent", syscall(SYS_openat, AT_FDCWD, text, O_RDONLY));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		tried(files[i], syscall(SYS_open, files[i], O_RDONLY));
		tried(files[i], syscall(SYS_openat, AT_FDCWD, files[i], O_RDONLY));
		tried(files[i], syscall(SYS_openat, AT_FDCWD, files[i], O_PATH));
		TRY(openat2, AT_FDCWD, files[i], how, sizeof(how));
		TRY(stat, files[i], &st);
		TRY(lstat, files[i], &st);
		TRY(newfstatat, AT_FDCWD, files[i], &st, AT_EMPTY_PATH);
		TRY(statx, AT_FDCWD, files[i], 0, 0xfff, text);
		TRY(access, files[i], R_OK);
		TRY(faccessat2, AT_FDCWD, files[i], R_OK, 0);
		TRY(readlink, files[i], text, sizeof(text));
		TRY(name_to_handle_at, AT_FDCWD, files[i], handle, &mount, 0);
		TRY(chdir, files[i]);
		TRY(execve, files[i], NULL, NULL);
	}
}

static void try_writing(void)
{
	TRY(open, "/tmp/hostile", O_RDWR | O_CREAT, 0600);
	TRY(openat, AT_FDCWD, "/tmp", O_RDWR | O_TMPFILE, 0600);
	TRY(creat, "/tmp/hostile", 0600);
	TRY(mkdir, "/tmp/hostile", 0700);
	TRY(mknod, "/tmp/hostile", S_IFIFO | 0600, 0);
	TRY(symlink, "/etc/passwd", "/tmp/hostile");
	TRY(link, "/etc/passwd", "/tmp/hostile");
	TRY(unlink, PRIVATE);
	TRY(rename, PRIVATE, "/tmp/hostile");
	TRY(chmod, PRIVATE, 0644);
	TRY(truncate, PRIVATE, 0);
	TRY(utimensat, AT_FDCWD, PRIVATE, NULL, 0);
	TRY(write, 3, "x", 1);
	TRY(ftruncate, 3, 0);
	TRY(fchmod, 3, 0777);
	TRY(flock, 3, 2);
}

static void try_others(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { heap, 1 };
	tried("kill", kill(getppid(), 0));
	tried("kill-all", kill(-1, 0));
	tried("kill-self", syscall(SYS_kill, getpid(), 0));
	TRY(tgkill, getppid(), getppid(), 0);
	TRY(rt_sigqueueinfo, getppid(), SIGTERM, heap);
	TRY(pidfd_open, getppid(), 0);
	TRY(ptrace, PTRACE_TRACEME, 0, 0, 0);
	TRY(ptrace, PTRACE_SEIZE, getppid(), 0, 0);
	TRY(process_vm_readv, getppid(), &here, 1, &there, 1, 0);
	TRY(process_vm_writev, getppid(), &here, 1, &there, 1, 0);
	TRY(fork, 0);
	TRY(vfork, 0);
	TRY(clone, SIGCHLD, 0, 0, 0, 0);
	TRY(unshare, CLONE_NEWUSER);
	TRY(setpriority, PRIO_PROCESS, getppid(), 19);
	TRY(sched_setscheduler, getppid(), 0, heap);
	TRY(prlimit64, getppid(), RLIMIT_NOFILE, NULL, heap);
	TRY(setuid, 0);
	TRY(setresuid, 0, 0, 0);
	TRY(setgid, 0);
	TRY(setsid, 0);
	TRY(kcmp, getpid(), getppid(), 0, 0, 0);
}

static void try_channels(void)
{
	int pair[2];
	char byte;
	struct iovec here = { &byte, 1 };
	for (int family = 0; family < 45; family++) {
		tried("socket", syscall(SYS_socket, family, SOCK_STREAM, 0));
		tried("socket", syscall(SYS_socket, family, SOCK_DGRAM, 0));
		tried("socket", syscall(SYS_socket, family, SOCK_RAW, 0));
	}
	TRY(socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
	TRY(pipe2, pair, 0);
	TRY(memfd_create, "x", 0);
	TRY(shmget, 1, 4096, 01600);
	TRY(msgget, 1, 01600);
	TRY(semget, 1, 1, 01600);
	TRY(mq_open, "/x", O_CREAT, 0600, NULL);
	TRY(add_key, "user", "x", "x", 1, -3);
	TRY(keyctl, 0, -3, 0);
	TRY(request_key, "user", "x", NULL, 0);
	TRY(io_uring_setup, 1, heap);
	TRY(userfaultfd, 0);
	TRY(bpf, 0, heap, 64);
	TRY(perf_event_open, heap, 0, -1, -1, 0);
	TRY(inotify_init1, 0);
	TRY(fanotify_init, 0, 0);
	TRY(eventfd2, 0, 0);
	TRY(timerfd_create, 0, 0);
	TRY(timer_create, 0, NULL, heap);
	TRY(mincore, (uintptr_t)heap & ~4095ul, 4096, heap);
	TRY(preadv2, 3, &here, 1, 0, 0, 8 /* RWF_NOWAIT */);
	tried("cachestat", syscall(451, 3, heap, heap + 64, 0)); /* later than the headers */
	TRY(readahead, 3, 0, 4096);
	TRY(syslog, 3, heap, 64);
	tried("shared", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
	tried("cache", mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) == MAP_FAILED ? -1 : 0);
}

/* What it has without asking. */
static void look_around(void)
{
	struct stat st;
	tried("environment", getenv("PATH") || getenv("HOME") ? 0 : -1);
	tried("root", !getuid() || !geteuid() || !getgid() ? 0 : -1);
	tried("nobody", FIRST_IS_ROOT && getuid() == 65534 ? 0 : -1);
	/* Beside its own pipes: files of the system's libraries, to be read only. */
	for (int fd = 6; fd < 1024; fd++)
		tried("descriptor", fstat(fd, &st) || (S_ISREG(st.st_mode) && (fcntl(fd, F_GETFL) == -1)) ? -1 : 0);
}

__attribute__((constructor)) static void begin(void)
{
	char words[200];
	look_around();
	try_reading();
	try_writing();
	try_others();
	try_channels();
	snprintf(words, sizeof(words), "f" WORDS " did:%s.", done);
	syscall(SYS_write, 5, words, strlen(words));
	syscall(SYS_exit_group, 0);
}
/* SPDX-License-Identifier: Apache-2.0 */
