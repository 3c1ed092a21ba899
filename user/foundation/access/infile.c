/* SPDX-License-Identifier: Apache-2.0 */
/* access/infile: see infile.h. */
#include "access/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define PIECE 4096

static struct {
	struct kept {
		char *path;
		int fd;
	} * files;
	size_t files_cnt, files_cap;
} kept;

/* -1: not among the kept files. */
static int open_kept(const char *path)
{
	for (size_t i = 0; i < kept.files_cnt; i++) {
		int fd = strcmp(kept.files[i].path, path) ? -1 : fcntl(kept.files[i].fd, F_DUPFD_CLOEXEC, 0);
		if (fd >= 0)
			lseek(fd, 0, SEEK_SET);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int infile_open_any(const char *path, struct err *err)
{
	int fd = open_kept(path);
	fd = fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_set(err, errno, "cannot read %s: %s", path, strerror(errno)) : fd;
}

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static int refuse(const char *path, mode_t mode, struct err *err)
{
	return err_set(err, EINVAL, "%s is %s, not a regular file", path, kind_of(mode));
}

/*
 * Checked before opening, because opening a device may have effects, and again after, because the path may lead to
 * another file by then.
 */
int infile_open(const char *path, struct err *err)
{
	struct stat st;
	int fd = open_kept(path);
	if (fd < 0 && !stat(path, &st) && !S_ISREG(st.st_mode))
		return refuse(path, st.st_mode, err);
	fd = fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return refuse(path, st.st_mode, err);
}

int infile_keep(const char *path, bool any, struct err *err)
{
	int fd = !path ? 0 : any ? infile_open_any(path, err) : infile_open(path, err);
	if (!path || fd < 0)
		return fd;
	struct kept *k = VEC_PUSH(&kept, files);
	char *name = k ? strdup(path) : NULL;
	if (!name) {
		kept.files_cnt -= k != NULL;
		close(fd);
		return err_set(err, ENOMEM, "out of memory");
	}
	*k = (struct kept){ name, fd };
	return 0;
}

int infile_read(const char *path, uint64_t most, struct buf *out, struct err *err)
{
	uint64_t total = 0;
	ssize_t got = 1;
	int fd = infile_open(path, err);
	if (fd < 0)
		return fd;
	while (got > 0 && total <= most) {
		uint8_t *room = buf_room(out, PIECE);
		errno = ENOMEM;
		got = room ? read(fd, room, PIECE) : -1;
		total += got > 0 ? (uint64_t)got : 0;
		out->len += got > 0 ? (size_t)got : 0;
	}
	int rc = got < 0 ? err_set(err, errno, "cannot read %s: %s", path, strerror(errno)) : 0;
	if (total > most)
		rc = err_set(err, EFBIG, "%s has more than the %llu KiB that such a file may have", path,
			     (unsigned long long)most >> 10);
	close(fd);
	return rc;
}
