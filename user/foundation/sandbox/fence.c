/* sandbox/fence: see fence.h. */
#include "sandbox/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights of later kernels than Debian 12's header knows. */
#define REFER (1ull << 13)
#define TRUNCATE (1ull << 14)

#define WRITES                                                                                              \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |   \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |         \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |      \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Where processes and processors are counted by listing them. */
static const char *const listed[] = { "/proc", "/sys" };

static int allow(int rules, int at, uint64_t rights)
{
	struct landlock_path_beneath_attr a = { .allowed_access = rights, .parent_fd = at };
	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &a, 0) ? -errno : 0;
}

/* A place that is not there needs no rule. */
static int allow_at(int rules, const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int rc = fd < 0 ? 0 : allow(rules, fd, rights);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int allow_needed(int rules, int dir_fd, uint64_t rights)
{
	int rc = dir_fd < 0 ? 0 : allow(rules, dir_fd, rights);
	/* Workers are started with their input and output at /dev/null. */
	if (!rc)
		rc = allow_at(rules, "/dev/null", rights & (LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE));
	for (size_t i = 0; !rc && i < sizeof(listed) / sizeof(listed[0]); i++)
		rc = allow_at(rules, listed[i], LANDLOCK_ACCESS_FS_READ_DIR);
	return rc;
}

int fence_raise(int dir_fd)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t rights = WRITES | LANDLOCK_ACCESS_FS_READ_DIR | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
	if (version <= 0)
		return 0;
	int rules = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof(rights), 0);
	if (rules < 0)
		return -errno;
	int rc = allow_needed(rules, dir_fd, rights);
	if (!rc && syscall(SYS_landlock_restrict_self, rules, 0))
		rc = -errno;
	close(rules);
	return rc ? rc : 1;
}
