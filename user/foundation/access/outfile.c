/* SPDX-License-Identifier: Apache-2.0 */
/* access/outfile: see outfile.h. */
#include "access/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* By descriptor, never by path. If it fails, the file belongs to root, which is harmless. */
static void give_to_caller(int fd)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	if (geteuid() == 0 && uid && gid) {
		int rc = fchown(fd, (uid_t)strtoul(uid, NULL, 10), (gid_t)strtoul(gid, NULL, 10));
		(void)rc;
	}
}

bool outfile_is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

int outfile_refuse_terminal(const char *path, const char *what, struct err *err)
{
	if (!outfile_is_stdout(path) || !isatty(STDOUT_FILENO))
		return 0;
	return err_set(err, EINVAL, "%s is not for a terminal: redirect standard output, or name a file with -o", what);
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

/* name: what it will be called in the end, for the message. */
static int create_new(const char *path, const char *name, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		int code = errno;
		return err_set(err, code, "cannot create %s: %s; choose another place", name, strerror(code));
	}
	give_to_caller(fd);
	return fd;
}

static int share_stdout(struct err *err)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd < 0 ? outfile_failed(NULL, errno, err) : fd;
}

int outfile_create(const char *path, bool force, struct err *err)
{
	if (outfile_is_stdout(path))
		return share_stdout(err);
	int rc = refuse_existing(path, force, err);
	if (rc)
		return rc;
	if (force)
		unlink(path);
	return create_new(path, path, err);
}

int outfile_begin(struct outfile *o, const char *path, bool force, struct err *err)
{
	char dir[4096], base[4096];
	*o = (struct outfile){ .fd = -1 };
	if (outfile_is_stdout(path)) {
		o->fd = STDOUT_FILENO;
		return 0;
	}
	int rc = refuse_existing(path, force, err);
	if (rc)
		return rc;
	if (strlen(path) + 32 > sizeof(o->path))
		return err_set(err, ENAMETOOLONG, "the output name %.60s... is too long", path);
	strcpy(o->path, path);
	strcpy(dir, path);
	strcpy(base, path);
	if ((size_t)snprintf(o->temp, sizeof(o->temp), "%s/.%s.%d.tmp", dirname(dir), basename(base), (int)getpid()) >=
	    sizeof(o->temp))
		return err_set(err, ENAMETOOLONG, "the output name %.60s... is too long", path);
	unlink(o->temp);
	o->fd = create_new(o->temp, path, err);
	return o->fd < 0 ? o->fd : 0;
}

int outfile_commit(struct outfile *o, struct err *err)
{
	struct stat st;
	int code = 0;
	if (!*o->path) {
		o->fd = -1;
		return 0;
	}
	if (fsync(o->fd) && errno != EINVAL)
		code = errno;
	if (close(o->fd) && !code)
		code = errno;
	o->fd = -1;
	if (!code && rename(o->temp, o->path))
		code = errno;
	if (!code) {
		o->size = lstat(o->path, &st) ? 0 : (uint64_t)st.st_size;
		return 0;
	}
	unlink(o->temp);
	return outfile_failed(o->path, code, err);
}

void outfile_abort(struct outfile *o)
{
	if (o->fd < 0 || !*o->path)
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

int outfile_failed(const char *path, int code, struct err *err)
{
	bool file = path && !outfile_is_stdout(path);
	if (code == EPIPE)
		return err_set(err, code, "cannot write %s: its reader has gone", file ? path : "standard output");
	if (code == EBADF && !file)
		return err_set(err, code, "standard output is closed: redirect it into a file");
	const char *advice = code == ENOSPC || code == EDQUOT ? "; make room there, or write elsewhere" : "";
	return err_set(err, code, "cannot write %s: %s%s", file ? path : "standard output", strerror(code), advice);
}

int outfile_print(const void *bytes, unsigned long n, struct err *err)
{
	int rc = outfile_write(STDOUT_FILENO, bytes, n);
	return rc ? outfile_failed(NULL, -rc, err) : 0;
}
