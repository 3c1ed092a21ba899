/* SPDX-License-Identifier: Apache-2.0 */
/* access/target_files: see target_files.h. */
#include "access/target_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int target_file_reopen(int place)
{
	char path[32];
	struct stat st;
	if (place < 0)
		return place;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	int fd = fstat(place, &st) ? -errno : !S_ISREG(st.st_mode) ? -ENODEV : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int rc = fd == -1 ? -errno : fd;
	close(place);
	return rc;
}

int target_file_locate(uint32_t tgid, const char *path, int flags)
{
	char root[32];
	struct open_how how = { .flags = (uint64_t)flags | O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	snprintf(root, sizeof(root), "/proc/%u/root", tgid);
	int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how)), rc = fd < 0 ? -errno : fd;
	close(at);
	return rc;
}

int target_file_open(uint32_t tgid, const char *path)
{
	return target_file_reopen(target_file_locate(tgid, path, 0));
}

int target_file_mapped(uint32_t tgid, uint64_t start, uint64_t end)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tgid, start, end);
	int place = open(path, O_PATH | O_CLOEXEC);
	return target_file_reopen(place < 0 ? -errno : place);
}
