/* SPDX-License-Identifier: Apache-2.0 */
/* symbol/locate: see locate.h. */
#include "symbol/locate.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* O_NONBLOCK: the path may be a FIFO. */
static int open_owned(struct buf *path, uid_t other_owner, int flags)
{
	struct stat st;
	int fd = path->failed ? -1 : open(buf_str(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != other_owner))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int by_id(const struct want *w, struct buf *path)
{
	if (w->id_sz < 2)
		return -1;
	buf_addf(path, DEBUG_ROOT "/.build-id/%02x/", w->id[0]);
	for (size_t i = 1; i < w->id_sz; i++)
		buf_addf(path, "%02x", w->id[i]);
	buf_adds(path, ".debug");
	return open_owned(path, 0, 0);
}

/* A file beside the module counts only if it belongs to the module's owner, and is not a symbolic link. */
static int beside(const struct want *w, int fd, const char *module, struct buf *path)
{
	static const char *const form[] = {
		[WANT_BESIDE] = "%.*s/%s",
		[WANT_BESIDE_SUB] = "%.*s/.debug/%s",
		[WANT_BESIDE_SYS] = DEBUG_ROOT "%.*s/%s",
		[WANT_SHARED] = "%.*s/%s",
	};
	const char *slash = strrchr(module, '/');
	struct stat st;
	if (!slash || !*w->name || strchr(w->name, '/') || fstat(fd, &st))
		return -1;
	buf_addf(path, form[w->kind], (int)(slash - module), module, w->name);
	return open_owned(path, w->kind == WANT_BESIDE_SYS ? 0 : st.st_uid, O_NOFOLLOW);
}

/*
 * The path that dwz stores is absolute, or relative to the debug file; its part from .dwz on is the same. A name
 * without directories is in the module's directory.
 */
static int shared(const struct want *w, int fd, const char *module, struct buf *path)
{
	const char *part = strstr(w->name, "/.dwz/");
	int found = by_id(w, path);
	if (found >= 0)
		return found;
	buf_reset(path);
	if (!part)
		return beside(w, fd, module, path);
	if (strstr(part, ".."))
		return -1;
	buf_adds(path, DEBUG_ROOT);
	buf_adds(path, part);
	return open_owned(path, 0, 0);
}

int locate_debug(const struct want *w, int fd, const char *path)
{
	struct buf at = { 0 };
	int found = -1;
	switch (w->kind) {
	case WANT_BY_ID: found = by_id(w, &at); break;
	case WANT_BESIDE:
	case WANT_BESIDE_SUB:
	case WANT_BESIDE_SYS: found = beside(w, fd, path, &at); break;
	case WANT_SHARED: found = shared(w, fd, path, &at); break;
	case WANT_NETWORK: break;
	}
	buf_free(&at);
	return found;
}
