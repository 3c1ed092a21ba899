/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/allowed: see allowed.h. */
#include "sandbox/allowed.h"

#include <linux/bpf.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/ptrace.h>

#include "sandbox/filter.h"

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define FILES                                                                                                                    \
	ALLOW(read), ALLOW(write), ALLOW(pread64), ALLOW(pwrite64), ALLOW(readv), ALLOW(writev), ALLOW(preadv), ALLOW(pwritev),  \
		ALLOW(open), ALLOW(openat), ALLOW(openat2), ALLOW(close), ALLOW(close_range), ALLOW(lseek), ALLOW(stat),         \
		ALLOW(fstat), ALLOW(lstat), ALLOW(newfstatat), ALLOW(statx), ALLOW(statfs), ALLOW(fstatfs), ALLOW(access),       \
		ALLOW(faccessat), ALLOW(faccessat2), ALLOW(readlink), ALLOW(readlinkat), ALLOW(getdents64), ALLOW(getcwd),       \
		ALLOW(fcntl), ALLOW(flock), ALLOW(ioctl), ALLOW(dup), ALLOW(dup2), ALLOW(dup3), ALLOW(pipe), ALLOW(pipe2),       \
		ALLOW(mkdir), ALLOW(mkdirat), ALLOW(unlink), ALLOW(unlinkat), ALLOW(rmdir), ALLOW(rename), ALLOW(renameat),      \
		ALLOW(renameat2), ALLOW(linkat), ALLOW(symlink), ALLOW(symlinkat), ALLOW(chmod), ALLOW(fchmod), ALLOW(fchmodat), \
		ALLOW(ftruncate), ALLOW(fallocate), ALLOW(fsync), ALLOW(fdatasync), ALLOW(fadvise64), ALLOW(utimensat),          \
		ALLOW(umask), ALLOW(sendfile), ALLOW(copy_file_range), ALLOW(memfd_create), ALLOW(name_to_handle_at)

#define WAITING                                                                                                                 \
	ALLOW(poll), ALLOW(ppoll), ALLOW(select), ALLOW(pselect6), ALLOW(epoll_create), ALLOW(epoll_create1), ALLOW(epoll_ctl), \
		ALLOW(epoll_wait), ALLOW(epoll_pwait), ALLOW(epoll_pwait2), ALLOW(eventfd), ALLOW(eventfd2), ALLOW(signalfd4),  \
		ALLOW(timerfd_create), ALLOW(timerfd_settime), ALLOW(timerfd_gettime), ALLOW(inotify_init1),                    \
		ALLOW(inotify_add_watch), ALLOW(inotify_rm_watch), ALLOW(futex), ALLOW(pause), ALLOW(restart_syscall),          \
		ALLOW(nanosleep), ALLOW(clock_nanosleep), ALLOW(clock_gettime), ALLOW(clock_getres), ALLOW(gettimeofday),       \
		ALLOW(time), ALLOW(times), ALLOW(alarm), ALLOW(setitimer), ALLOW(timer_create), ALLOW(timer_settime),           \
		ALLOW(timer_delete)

#define TALKING                                                                                                               \
	ALLOW(socket), ALLOW(socketpair), ALLOW(bind), ALLOW(listen), ALLOW(accept), ALLOW(accept4), ALLOW(connect),          \
		ALLOW(getsockname), ALLOW(getpeername), ALLOW(getsockopt), ALLOW(setsockopt), ALLOW(sendto), ALLOW(recvfrom), \
		ALLOW(sendmsg), ALLOW(recvmsg), ALLOW(sendmmsg), ALLOW(recvmmsg), ALLOW(shutdown)

#define LIVING                                                                                                                  \
	ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), ALLOW(mremap), ALLOW(madvise), ALLOW(msync), ALLOW(mlock), ALLOW(munlock), \
		ALLOW(brk), ALLOW(membarrier), ALLOW(set_robust_list), ALLOW(get_robust_list), ALLOW(rseq),                     \
		ALLOW(set_tid_address), ALLOW(arch_prctl), ALLOW(prctl), ALLOW(getrandom), ALLOW(rt_sigaction),                 \
		ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(rt_sigtimedwait), ALLOW(rt_sigsuspend), ALLOW(rt_sigpending), \
		ALLOW(sigaltstack), ALLOW(kill), ALLOW(tgkill), ALLOW(pidfd_open), ALLOW(pidfd_send_signal), ALLOW(fork),       \
		ALLOW(vfork), ALLOW_CLEAR(clone, 0, NAMESPACES), REFUSE_AS(clone3, ENOSYS), ALLOW(execve), ALLOW(wait4),        \
		ALLOW(waitid), ALLOW(exit), ALLOW(exit_group), ALLOW(getpid), ALLOW(getppid), ALLOW(gettid), ALLOW(getuid),     \
		ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid), ALLOW(getgroups), ALLOW(getresuid), ALLOW(getresgid),            \
		ALLOW(getpgid), ALLOW(getpgrp), ALLOW(setpgid), ALLOW(getsid), ALLOW(setsid), ALLOW(capget), ALLOW(capset),     \
		ALLOW(getpriority), ALLOW(setpriority), ALLOW(sched_setattr), ALLOW(sched_yield), ALLOW(sched_getaffinity),     \
		ALLOW(sched_setaffinity), ALLOW(sched_getparam), ALLOW(sched_getscheduler), ALLOW(sched_setscheduler),          \
		ALLOW(sched_get_priority_max), ALLOW(sched_get_priority_min), ALLOW(getcpu), ALLOW(get_mempolicy),              \
		ALLOW(getrlimit), ALLOW(setrlimit), ALLOW(prlimit64), ALLOW(getrusage), ALLOW(sysinfo), ALLOW(uname),           \
		ALLOW(seccomp), ALLOW(landlock_create_ruleset), ALLOW(landlock_add_rule), ALLOW(landlock_restrict_self)

/* Operations on maps that are already open. */
#define MAPS                                                                                                                    \
	ALLOW_ONE(bpf, 0, BPF_MAP_LOOKUP_ELEM), ALLOW_ONE(bpf, 0, BPF_MAP_UPDATE_ELEM), ALLOW_ONE(bpf, 0, BPF_MAP_DELETE_ELEM), \
		ALLOW_ONE(bpf, 0, BPF_MAP_GET_NEXT_KEY), ALLOW_ONE(bpf, 0, BPF_MAP_LOOKUP_AND_DELETE_ELEM),                     \
		ALLOW_ONE(bpf, 0, BPF_MAP_LOOKUP_BATCH), ALLOW_ONE(bpf, 0, BPF_MAP_LOOKUP_AND_DELETE_BATCH),                    \
		ALLOW_ONE(bpf, 0, BPF_MAP_UPDATE_BATCH), ALLOW_ONE(bpf, 0, BPF_MAP_DELETE_BATCH),                               \
		ALLOW_ONE(bpf, 0, BPF_OBJ_GET_INFO_BY_FD)

#define RIGHTS                                                                                                             \
	ALLOW(bpf), ALLOW(perf_event_open), ALLOW(process_vm_readv), ALLOW(setgroups), ALLOW(setresuid), ALLOW(setresgid), \
		ALLOW(fchown), ALLOW(fchownat), ALLOW_ONE(kcmp, 2, KCMP_VM)

/* Used by access/thread_stacks. */
#define STOPS                                                                                                               \
	ALLOW_ONE(ptrace, 0, PTRACE_SEIZE), ALLOW_ONE(ptrace, 0, PTRACE_INTERRUPT), ALLOW_ONE(ptrace, 0, PTRACE_GETREGSET), \
		ALLOW_ONE(ptrace, 0, PTRACE_GETSIGINFO), ALLOW_ONE(ptrace, 0, PTRACE_DETACH)

static const struct sock_filter of_broker[] = { FILTER_BEGIN, FILES, WAITING, TALKING, LIVING, RIGHTS, FILTER_END };

static const struct sock_filter of_stopping_broker[] = {
	FILTER_BEGIN, FILES, WAITING, TALKING, LIVING, RIGHTS, STOPS, FILTER_END
};

static const struct sock_filter of_collector[] = { FILTER_BEGIN, FILES, WAITING, TALKING, LIVING, MAPS, FILTER_END };

int allowed_to_broker(bool stops)
{
	return stops ? FILTER_ENTER(of_stopping_broker) : FILTER_ENTER(of_broker);
}

int allowed_to_collector(void)
{
	return FILTER_ENTER(of_collector);
}
