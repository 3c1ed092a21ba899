/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/confine: see confine.h. */
#include "sandbox/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"

/* A range of user ids that systemd documents as unused: adding the pid gives each process its own. */
#define USERS 0x70000000u
#define SECONDS 5             /* of CPU time; those who wait have shorter timeouts */
#define MEMORY (128ull << 20) /* more than any allocator needs for some thousand calls */
#define THREADS 32
#define DESCRIPTORS 64

static const struct landlock_place libraries[] = {
	{ .path = "/lib", .left = LANDLOCK_READ },           { .path = "/lib64", .left = LANDLOCK_READ },
	{ .path = "/usr/lib", .left = LANDLOCK_READ },       { .path = "/usr/lib64", .left = LANDLOCK_READ },
	{ .path = "/usr/local/lib", .left = LANDLOCK_READ },
};

/* No mincore: it reveals what other processes read. Shared memory would not count against RLIMIT_DATA. */
#define CALLS                                                                                                                    \
	ALLOW_VALUE(mmap, 3, MAP_TYPE, MAP_PRIVATE), ALLOW(munmap), ALLOW(mprotect), ALLOW(mremap), ALLOW(madvise), ALLOW(brk),  \
		ALLOW(read), ALLOW(pread64), ALLOW(write), ALLOW(close), ALLOW(lseek), ALLOW(fstat),                             \
		ALLOW(dup), /* Threads only. clone3's flags are in memory, where filters cannot read them: libc falls back. */   \
		ALLOW_SET(clone, 0, CLONE_THREAD), REFUSE_AS(clone3, ENOSYS), ALLOW(futex), ALLOW(set_robust_list), ALLOW(rseq), \
		ALLOW(set_tid_address), ALLOW(arch_prctl), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(sched_getparam),  \
		ALLOW(sched_getscheduler), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack),  \
		ALLOW(getpid), ALLOW(gettid), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid),                      \
		ALLOW(clock_gettime), ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday), ALLOW(times),               \
		ALLOW(getrandom), ALLOW(sysinfo), ALLOW(uname), ALLOW(getrlimit), ALLOW(getcpu), ALLOW(get_mempolicy),           \
		ALLOW(exit), ALLOW(exit_group)

static const struct sock_filter loading[] = {
	FILTER_BEGIN,
	CALLS,
	ALLOW(newfstatat),
	ALLOW(readlink),
	ALLOW(access),
	ALLOW_CLEAR(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)),
	ALLOW_VALUE(prctl, 0, ~0u, PR_SET_SECCOMP),
	ALLOW(landlock_create_ruleset),
	ALLOW(landlock_restrict_self),
	FILTER_END,
};

static const struct sock_filter running[] = { FILTER_BEGIN, TRAP(openat), TRAP(newfstatat), CALLS, FILTER_END };

static bool limit(__rlimit_resource_t what, rlim_t value)
{
	struct rlimit l = { value, value };
	return !setrlimit(what, &l);
}

static bool become_nobody_else(void)
{
	uid_t own = USERS + (uid_t)getpid();
	return !caps_has(CAP_SETUID) || (!setgroups(0, NULL) && !setresgid(own, own, own) && !setresuid(own, own, own));
}

static bool drop_rights(void)
{
	return (SANITIZED || limit(RLIMIT_DATA, MEMORY)) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) &&
	       limit(RLIMIT_CPU, SECONDS) && limit(RLIMIT_NOFILE, DESCRIPTORS) && limit(RLIMIT_NPROC, THREADS) &&
	       become_nobody_else() && !caps_drop_all() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) && !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

bool confine_to_libraries(void)
{
	return drop_rights() && landlock_take(LANDLOCK_ALL, libraries, sizeof(libraries) / sizeof(*libraries)) == 1 &&
	       !FILTER_ENTER(loading);
}

static int (*open_known)(const char *path);

/* The C library also uses this call for open descriptors. */
static long stat_open(int fd, const char *path, struct stat *out)
{
	return *path ? -ENOENT : syscall(SYS_fstat, fd, out) ? -errno : 0;
}

static void answer(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	int code = errno;
	(void)sig;
	const char *path = (const char *)SYSCALLS_ARGUMENT(c, 1);
	SYSCALLS_RESULT(c) = info->si_syscall == SYS_openat
				     ? open_known(path)
				     : stat_open((int)SYSCALLS_ARGUMENT(c, 0), path, (struct stat *)SYSCALLS_ARGUMENT(c, 2));
	errno = code;
}

bool confine_wholly(int (*open)(const char *path))
{
	struct sigaction act = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER };
	open_known = open;
	return !sigaction(SIGSYS, &act, NULL) && landlock_take(LANDLOCK_ALL, NULL, 0) == 1 && !FILTER_ENTER(running);
}
