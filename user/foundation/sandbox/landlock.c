/* sandbox/landlock: see landlock.h. Debian 12's header knows the first version of the interface only. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ruleset {
	uint64_t files, net, scoped;
};

static struct ruleset all_of(long version)
{
	static const uint64_t files[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff };
	return (struct ruleset){ files[version > 5 ? 5 : version], version >= 4 ? 3 : 0, version >= 6 ? 3 : 0 };
}

static size_t size_of(long version)
{
	return version >= 6 ? sizeof(struct ruleset) : version >= 4 ? offsetof(struct ruleset, scoped) : offsetof(struct ruleset, net);
}

static int allow_reading(int rules, const char *path)
{
	struct landlock_path_beneath_attr a = { .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE };
	a.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (a.parent_fd < 0)
		return 0;
	int rc = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &a, 0) ? -errno : 0;
	close(a.parent_fd);
	return rc;
}

int landlock_leave(const char *const *readable)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version <= 0)
		return 0;
	struct ruleset all = all_of(version);
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size_of(version), 0), rc = 0;
	if (rules < 0)
		return -errno;
	for (; *readable && !rc; readable++)
		rc = allow_reading(rules, *readable);
	if (!rc && syscall(SYS_landlock_restrict_self, rules, 0))
		rc = -errno;
	close(rules);
	return rc ? rc : 1;
}
