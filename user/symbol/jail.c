/* symbol/jail: see jail.h. */
#include "symbol/jail.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caps.h"

#define NOBODY 65534

#if defined(__SANITIZE_ADDRESS__) || defined(__has_feature)
#define SANITIZED 1 /* its shadow memory is terabytes */
#else
#define SANITIZED 0
#endif

static int limit(int what, rlim_t value)
{
	struct rlimit l = { value, value };
	return setrlimit((__rlimit_resource_t)what, &l) ? -errno : 0;
}

static uint64_t given = JAIL_MEMORY;

uint64_t jail_memory(void)
{
	return given;
}

static int set_limits(void)
{
	int rc = SANITIZED ? 0 : limit(RLIMIT_DATA, given);
	/* The soft limit is a signal that may be caught, so both are the same. */
	if (!rc)
		rc = limit(RLIMIT_CPU, JAIL_SECONDS);
	if (!rc)
		rc = limit(RLIMIT_CORE, 0);
	if (!rc)
		rc = limit(RLIMIT_FSIZE, 0);
	return rc ? rc : limit(RLIMIT_NOFILE, 16);
}

/* In a user namespace nobody may have no number: then root is only the root of that namespace. */
static int become_nobody(void)
{
	if (geteuid() == 0) {
		if (setgroups(0, NULL) && errno != EPERM)
			return -errno;
		if (setresgid(NOBODY, NOBODY, NOBODY) && errno != EINVAL)
			return -errno;
		if (setresuid(NOBODY, NOBODY, NOBODY) && errno != EINVAL)
			return -errno;
	}
	return caps_drop_all();
}

/* No right on any file: the numbers of rights by version of the interface (Linux 5.13 to 6.10). */
static int close_file_system(void)
{
	static const uint64_t rights[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff };
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* ask for the version */);
	if (version <= 0)
		return 0;
	uint64_t handled = rights[version > 5 ? 5 : version];
	int fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (fd < 0)
		return -errno;
	int rc = syscall(SYS_landlock_restrict_self, fd, 0) ? -errno : 0;
	close(fd);
	return rc;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define ALLOW(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), RETURN(SECCOMP_RET_ALLOW)

/*
 * What libdw, zlib and malloc were seen to need. Others fail with EPERM rather than end the process:
 * a C library that begins to ask for one more fact has a way to do without.
 */
static int allow_few_calls(void)
{
	static struct sock_filter code[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		ALLOW(read), ALLOW(pread64), ALLOW(write), ALLOW(close), ALLOW(fstat),
		ALLOW(newfstatat), ALLOW(lseek), ALLOW(munmap), ALLOW(mprotect),
		ALLOW(brk), ALLOW(mremap), ALLOW(madvise), ALLOW(futex), ALLOW(exit_group),
		ALLOW(fcntl), ALLOW(dup), ALLOW(dup3), ALLOW(recvmsg), ALLOW(sendmsg),
		ALLOW(getrandom), ALLOW(rt_sigreturn), ALLOW(clock_gettime),
		/* Shared memory would not be counted as its data. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
		LOAD(args[3]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_TYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_PRIVATE, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

int jail_enter(uint64_t memory, struct err *err)
{
	const char *what = "limits";
	given = memory && memory < JAIL_MEMORY ? memory : JAIL_MEMORY;
	int rc = set_limits();
	if (!rc) {
		what = "user";
		rc = become_nobody();
	}
	if (!rc) {
		what = "no_new_privs";
		rc = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0) ? -errno : 0;
	}
	if (!rc) {
		what = "landlock";
		rc = close_file_system();
	}
	if (!rc) {
		what = "seccomp";
		rc = allow_few_calls();
	}
	return rc ? err_set(err, -rc, "cannot give up rights (%s): %s", what, strerror(-rc)) : 0;
}
