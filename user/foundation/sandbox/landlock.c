/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/landlock: see landlock.h. Debian 12's header defines only the first version of the interface. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFER (1ull << 13)
#define TRUNCATE (1ull << 14)
#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE)
#define WRITES (LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE)
#define CHANGES                                                                                                   \
	(WRITES | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |               \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | REFER)

struct ruleset {
	uint64_t files, net, scoped;
};

static uint64_t files_of(unsigned int rights)
{
	return (rights & LANDLOCK_READ ? READS : 0) | (rights & LANDLOCK_WRITE ? WRITES : 0) |
	       (rights & LANDLOCK_CHANGE ? CHANGES : 0) | (rights & LANDLOCK_LIST ? LANDLOCK_ACCESS_FS_READ_DIR : 0);
}

static struct ruleset taken_of(unsigned int taken, long version)
{
	static const uint64_t known[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff };
	const uint64_t files = known[version > 5 ? 5 : version];
	if (taken & LANDLOCK_ALL)
		return (struct ruleset){ files, version >= 4 ? 3 : 0, version >= 6 ? 3 : 0 };
	return (struct ruleset){ .files = files_of(taken) & files };
}

static size_t size_of(long version)
{
	return version >= 6   ? sizeof(struct ruleset)
	       : version >= 4 ? offsetof(struct ruleset, scoped)
			      : offsetof(struct ruleset, net);
}

static int leave(int rules, const struct landlock_place *place, uint64_t taken)
{
	int fd = place->path ? open(place->path, O_PATH | O_CLOEXEC) : place->dir_fd, rc = 0;
	struct landlock_path_beneath_attr a = { .allowed_access = files_of(place->left) & taken, .parent_fd = fd };
	if (fd >= 0 && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &a, 0))
		rc = -errno;
	if (fd >= 0 && place->path)
		close(fd);
	return rc;
}

int landlock_take(unsigned int taken, const struct landlock_place *places, size_t cnt)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version <= 0)
		return 0;
	struct ruleset all = taken_of(taken, version);
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size_of(version), 0), rc = 0;
	if (rules < 0)
		return -errno;
	for (size_t i = 0; i < cnt && !rc; i++)
		rc = leave(rules, &places[i], all.files);
	if (!rc && syscall(SYS_landlock_restrict_self, rules, 0))
		rc = -errno;
	close(rules);
	return rc ? rc : 1;
}
