/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/jail: see jail.h. */
#include "sandbox/jail.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"

#define NOBODY 65534

/* A limit that is lower already is kept. */
static int limit(int what, rlim_t value)
{
	struct rlimit l;
	if (getrlimit((__rlimit_resource_t)what, &l))
		return -errno;
	l.rlim_max = l.rlim_cur = l.rlim_max < value ? l.rlim_max : value;
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
	/* The soft limit's signal could be caught, so both limits are the same. */
	if (!rc)
		rc = limit(RLIMIT_CPU, JAIL_SECONDS);
	if (!rc)
		rc = limit(RLIMIT_CORE, 0);
	if (!rc)
		rc = limit(RLIMIT_FSIZE, 0);
	return rc ? rc : limit(RLIMIT_NOFILE, 16);
}

/*
 * In a user namespace, nobody may be unmapped, and root is only the namespace's root. A root without the right to
 * change its user id stays root: without capabilities and open files it can do nothing more.
 */
static int become_nobody(void)
{
	if (geteuid() == 0 && caps_has(CAP_SETUID) && caps_has(CAP_SETGID)) {
		if (setgroups(0, NULL) && errno != EPERM)
			return -errno;
		if (setresgid(NOBODY, NOBODY, NOBODY) && errno != EINVAL)
			return -errno;
		if (setresuid(NOBODY, NOBODY, NOBODY) && errno != EINVAL)
			return -errno;
	}
	return caps_drop_all();
}

/*
 * Calls that libdw, zlib and malloc were seen to need. Others fail with EPERM instead of killing the process: a newer C
 * library that tries further calls usually has a fallback.
 */
static const struct sock_filter few_calls[] = {
	FILTER_BEGIN,
	ALLOW(read),
	ALLOW(pread64),
	ALLOW(write),
	ALLOW(close),
	ALLOW(fstat),
	ALLOW(newfstatat),
	ALLOW(lseek),
	ALLOW(munmap),
	ALLOW(mprotect),
	ALLOW(brk),
	ALLOW(mremap),
	ALLOW(madvise),
	ALLOW(futex),
	ALLOW(exit_group),
	ALLOW(fcntl),
	ALLOW(dup),
	ALLOW(dup3),
	ALLOW(recvmsg),
	ALLOW(sendmsg),
	ALLOW(getrandom),
	ALLOW(rt_sigreturn),
	ALLOW(clock_gettime),
	/* Shared memory would not count against RLIMIT_DATA. */
	ALLOW_VALUE(mmap, 3, MAP_TYPE, MAP_PRIVATE),
	FILTER_END,
};

static int failed(const char *what, int rc, struct err *err)
{
	return err_set(err, -rc, "cannot drop privileges (%s): %s", what, strerror(-rc));
}

int jail_leave_rights(struct err *err)
{
	const char *what = "user";
	int rc = become_nobody();
	if (!rc) {
		what = "no_new_privs";
		rc = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0) ? -errno : 0;
	}
	if (!rc) {
		what = "landlock";
		rc = landlock_take(LANDLOCK_ALL, NULL, 0);
		rc = rc < 0 ? rc : 0;
	}
	return rc ? failed(what, rc, err) : 0;
}

int jail_enter(uint64_t memory, struct err *err)
{
	given = memory && memory < JAIL_MEMORY ? memory : JAIL_MEMORY;
	int rc = set_limits();
	if (rc)
		return failed("limits", rc, err);
	rc = jail_leave_rights(err);
	if (rc)
		return rc;
	rc = FILTER_ENTER(few_calls);
	return rc ? failed("seccomp", rc, err) : 0;
}
