/* SPDX-License-Identifier: Apache-2.0 */
/* access/secret_file: see secret_file.h. */
#include "access/secret_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/infile.h"

#define LINKS_MAX 40

/* Root and we may change it. Others may not, except their own files in a directory like /tmp. */
static int check_writers(const char *path, const struct stat *st, struct err *err)
{
	mode_t others = S_IWOTH | (st->st_gid && st->st_gid != getegid() ? S_IWGRP : 0);
	bool sticky = S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX;
	if (st->st_uid && st->st_uid != geteuid())
		return err_set(err, EPERM, "%s belongs to user %u, who could change what is sent: `chown root` it", path,
			       (unsigned int)st->st_uid);
	if (!S_ISLNK(st->st_mode) && st->st_mode & others && !sticky)
		return err_set(err, EPERM, "%s can be changed by other users (mode %04o): `chmod go-w` it", path,
			       (unsigned int)st->st_mode & 07777);
	return 0;
}

static int check_readers(const char *path, const struct stat *st, struct err *err)
{
	mode_t others = S_IRWXO | (st->st_gid && st->st_gid != getegid() ? S_IRWXG : 0);
	if (st->st_mode & others)
		return err_set(err, EPERM, "%s holds a secret that other users can read (mode %04o): `chmod 600` it", path,
			       (unsigned int)st->st_mode & 07777);
	return 0;
}

/* A path that is walked from the root: what was checked, without links, and what is left. */
struct way {
	char done[PATH_MAX], rest[PATH_MAX];
	unsigned int links;
};

static void step_back(struct way *w)
{
	char *last = strrchr(w->done, '/');
	if (last)
		*last = 0;
}

/* `done` ends with a link: goes on at what it leads to. */
static int follow(struct way *w)
{
	char target[PATH_MAX], left[PATH_MAX];
	ssize_t n = readlink(w->done, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	memcpy(left, w->rest, sizeof(left));
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (snprintf(w->rest, sizeof(w->rest), "%s/%s", target, left) >= (int)sizeof(w->rest))
		return -ENAMETOOLONG;
	if (*target == '/')
		*w->done = 0;
	else
		step_back(w);
	return 0;
}

/* Moves the first name of `rest` to `done`. */
static int step(struct way *w)
{
	char name[PATH_MAX];
	size_t slashes = strspn(w->rest, "/"), len = strcspn(w->rest + slashes, "/"), have = strlen(w->done);
	memcpy(name, w->rest + slashes, len);
	name[len] = 0;
	memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
	if (!len || !strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		step_back(w);
	else if (snprintf(w->done + have, sizeof(w->done) - have, "/%s", name) >= (int)(sizeof(w->done) - have))
		return -ENAMETOOLONG;
	return 0;
}

/* Every directory and link on the way, and the file, whose status is returned. */
static int check_way(const char *path, struct stat *st, struct err *err)
{
	struct way w = { 0 };
	char here[PATH_MAX] = "";
	if (*path != '/' && !getcwd(here, sizeof(here)))
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	int rc = snprintf(w.rest, sizeof(w.rest), "%s/%s", here, path) < (int)sizeof(w.rest) ? 0 : -ENAMETOOLONG;
	while (!rc && *w.rest) {
		rc = step(&w);
		if (!rc && lstat(*w.done ? w.done : "/", st))
			rc = -errno;
		if (!rc && check_writers(*w.done ? w.done : "/", st, err))
			return -err->code;
		if (!rc && S_ISLNK(st->st_mode))
			rc = follow(&w);
	}
	return rc ? err_set(err, -rc, "cannot open %s: %s", path, strerror(-rc)) : 0;
}

int secret_file_read(const char *path, bool readable, uint64_t most, struct buf *out, struct err *err)
{
	struct stat st;
	int rc = check_way(path, &st, err);
	if (!rc && !readable && S_ISREG(st.st_mode))
		rc = check_readers(path, &st, err);
	return rc ? rc : infile_read(path, most, out, err);
}
