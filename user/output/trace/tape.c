/* SPDX-License-Identifier: Apache-2.0 */
/* trace/tape: see tape.h. */
#include "trace/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_STEP (1024 * 1024)

static bool is_full(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

/* With a shell's >>, the file may already have contents in front. */
void tape_begin(struct tape *t, int fd)
{
	struct stat st;
	off_t at = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
	bool at_end = at >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == at;
	*t = (struct tape){ .fd = fd, .begin = at_end ? (uint64_t)at : 0, .no_reserve = !at_end, .streams = !at_end };
}

static int reserve(struct tape *t, uint64_t n)
{
	if (t->no_reserve || t->pos + n <= t->reserved_to)
		return 0;
	uint64_t ask = n > RESERVE_STEP ? n : RESERVE_STEP;
	int rc = fallocate(t->fd, FALLOC_FL_KEEP_SIZE, (off_t)(t->begin + t->pos), (off_t)ask);
	if (rc && is_full(errno)) {
		ask = n;
		rc = fallocate(t->fd, FALLOC_FL_KEEP_SIZE, (off_t)(t->begin + t->pos), (off_t)ask);
	}
	if (!rc)
		t->reserved_to = t->pos + ask;
	else if (is_full(errno))
		return -errno;
	else if (errno != EINTR)
		t->no_reserve = true;
	return 0;
}

/* A partly written piece is cut off, because later pieces would follow the fragment. */
static int undo(struct tape *t, int code)
{
	if (!t->streams && !ftruncate(t->fd, (off_t)(t->begin + t->pos))) {
		lseek(t->fd, (off_t)(t->begin + t->pos), SEEK_SET);
		if (t->reserved_to > t->pos)
			t->reserved_to = t->pos; /* ftruncate released the reserve */
	}
	return -code;
}

int tape_write(struct tape *t, const void *bytes, size_t n, size_t keep)
{
	int rc = reserve(t, n + keep);
	if (rc)
		return rc;
	for (size_t done = 0; done < n;) {
		ssize_t put = write(t->fd, (const char *)bytes + done, n - done);
		if (put > 0)
			done += (size_t)put;
		else if (put == 0)
			return undo(t, EIO);
		else if (errno != EINTR)
			return undo(t, errno);
	}
	t->pos += n;
	return 0;
}

int tape_close(struct tape *t)
{
	int rc = 0;
	if (!t->streams && t->reserved_to > t->pos && ftruncate(t->fd, (off_t)(t->begin + t->pos)))
		rc = -errno;
	if (close(t->fd) && !rc)
		rc = -errno;
	return rc;
}
