/* base/outfile: see outfile.h. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* By descriptor, never by path; a failure leaves the file root's, which harms nobody. */
static void give_to_caller(int fd)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	if (geteuid() == 0 && uid && gid) {
		int rc = fchown(fd, (uid_t)strtoul(uid, NULL, 10), (gid_t)strtoul(gid, NULL, 10));
		(void)rc;
	}
}

static int refuse_existing(const char *path, bool force, struct err *err)
{
	struct stat st;
	if (lstat(path, &st))
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(err, EEXIST, "%s exists and is not a regular file: choose another name", path);
	if (!force)
		return err_set(err, EEXIST, "%s exists: choose another name, or replace it with --force", path);
	return 0;
}

static int create_new(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		int code = errno;
		return err_set(err, code, "cannot create %s: %s; choose another place", path, strerror(code));
	}
	give_to_caller(fd);
	return fd;
}

int outfile_create(const char *path, bool force, struct err *err)
{
	int rc = refuse_existing(path, force, err);
	if (rc)
		return rc;
	if (force)
		unlink(path);
	return create_new(path, err);
}

int outfile_begin(struct outfile *o, const char *path, bool force, struct err *err)
{
	char dir[4096], base[4096];
	*o = (struct outfile){ .fd = -1 };
	int rc = refuse_existing(path, force, err);
	if (rc)
		return rc;
	if (strlen(path) + 32 > sizeof(o->path))
		return err_set(err, ENAMETOOLONG, "the output name %.60s... is too long", path);
	strcpy(o->path, path);
	strcpy(dir, path);
	strcpy(base, path);
	if ((size_t)snprintf(o->temp, sizeof(o->temp), "%s/.%s.%d.tmp", dirname(dir), basename(base),
			     (int)getpid()) >= sizeof(o->temp))
		return err_set(err, ENAMETOOLONG, "the output name %.60s... is too long", path);
	unlink(o->temp);
	o->fd = create_new(o->temp, err);
	return o->fd < 0 ? o->fd : 0;
}

int outfile_commit(struct outfile *o, struct err *err)
{
	int code = 0;
	if (fsync(o->fd) && errno != EINVAL)
		code = errno;
	if (close(o->fd) && !code)
		code = errno;
	o->fd = -1;
	if (!code && rename(o->temp, o->path))
		code = errno;
	if (!code)
		return 0;
	unlink(o->temp);
	return err_set(err, code, "cannot write %s: %s", o->path, strerror(code));
}

void outfile_abort(struct outfile *o)
{
	if (o->fd < 0)
		return;
	close(o->fd);
	unlink(o->temp);
	o->fd = -1;
}

int outfile_write(int fd, const void *bytes, unsigned long n)
{
	const char *at = bytes;
	while (n) {
		ssize_t put = write(fd, at, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -ENOSPC;
		at += put;
		n -= (unsigned long)put;
	}
	return 0;
}
