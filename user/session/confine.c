/* session/confine: see confine.h. */
#include "session/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caps.h"

#define NOBODY 65534
#define SECONDS 5 /* of CPU; whoever waits for us is less patient */
#define MEMORY (128ull << 20) /* more than any allocator wants for some thousand calls */

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* its shadow memory is terabytes */
#else
#define SANITIZED 0
#endif

#define FIELD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define GIVE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE(code) GIVE(SECCOMP_RET_ERRNO | (code))
#define IS(number, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, otherwise)
#define ALLOW(name) IS(__NR_##name, 1), GIVE(SECCOMP_RET_ALLOW)
/* Only with these bits of an argument set, or clear; they lie in its low half. */
#define ALLOW_SET(name, arg, bits)                                                                 \
	IS(__NR_##name, 4), FIELD(args[arg]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),    \
		GIVE(SECCOMP_RET_ALLOW), REFUSE(EPERM)
#define ALLOW_CLEAR(name, arg, bits)                                                               \
	IS(__NR_##name, 4), FIELD(args[arg]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0),    \
		GIVE(SECCOMP_RET_ALLOW), REFUSE(EPERM)

static struct sock_filter filter[] = {
	FIELD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0), GIVE(SECCOMP_RET_KILL_PROCESS),
	FIELD(nr),
	ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), ALLOW(mremap), ALLOW(madvise), ALLOW(brk), ALLOW(mincore),
	ALLOW(read), ALLOW(pread64), ALLOW(write), ALLOW(close), ALLOW(lseek), ALLOW(fstat), ALLOW(newfstatat),
	ALLOW(readlink), ALLOW(readlinkat), ALLOW(access),
	ALLOW_CLEAR(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)),
	ALLOW_CLEAR(open, 1, O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)),
	/* Threads, no processes. The newer call hides its flags in memory: libc falls back to this one. */
	ALLOW_SET(clone, 0, CLONE_THREAD), IS(__NR_clone3, 1), REFUSE(ENOSYS),
	ALLOW(futex), ALLOW(set_robust_list), ALLOW(rseq), ALLOW(set_tid_address), ALLOW(arch_prctl),
	ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(sched_getparam), ALLOW(sched_getscheduler),
	ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack),
	ALLOW(getpid), ALLOW(gettid), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid),
	ALLOW(clock_gettime), ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday), ALLOW(times),
	ALLOW(getrandom), ALLOW(sysinfo), ALLOW(uname), ALLOW(getrlimit), ALLOW(getcpu), ALLOW(get_mempolicy),
	ALLOW(exit), ALLOW(exit_group),
	REFUSE(EPERM),
};

static bool drop_rights(void)
{
	struct rlimit none = { 0, 0 }, cpu = { SECONDS, SECONDS }, memory = { MEMORY, MEMORY };

	if (!SANITIZED && setrlimit(RLIMIT_DATA, &memory))
		return false;
	if (setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_FSIZE, &none) || setrlimit(RLIMIT_CPU, &cpu))
		return false;
	if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			       setresuid(NOBODY, NOBODY, NOBODY)))
		return false;
	return !caps_drop_all() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) && !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

bool confine_self(void)
{
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };
	return drop_rights() && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
