/* SPDX-License-Identifier: Apache-2.0 */
/* base/local: see local.h. */
#include "base/local.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define GROUP "alys"
/* A daemon that was killed answers until its processes have taken their probes out. */
#define ENDING_MS 1000
#define LOOK_MS 20

gid_t local_group(void)
{
	const struct group *g = getgrnam(GROUP);
	return g ? g->gr_gid : (gid_t)-1;
}

static bool is_answered(const struct sockaddr_un *a, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* EPROTOTYPE: a socket of another type is listening. */
	bool yes = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) || errno == EAGAIN || errno == EPROTOTYPE);
	if (fd >= 0)
		close(fd);
	return yes;
}

/* Not only by a daemon that is about to end. */
static bool stays_answered(const struct sockaddr_un *a, int type)
{
	bool yes = is_answered(a, type);
	for (int ms = 0; yes && ms < ENDING_MS; ms += LOOK_MS) {
		usleep(LOOK_MS * 1000);
		yes = is_answered(a, type);
	}
	return yes;
}

static int clear_place(const struct local_place *p, const struct sockaddr_un *a, struct err *err)
{
	struct stat st;
	if (lstat(p->path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, EEXIST, "%s exists and is not a socket: choose another path with %s", p->path, p->option);
	if (stays_answered(a, p->type))
		return err_set(err, EADDRINUSE,
			       "another alys-bpf daemon answers at %s: stop it with `alys-bpf ctl stop`, or "
			       "give this one its own %s",
			       p->path, p->option);
	return unlink(p->path) && errno != ENOENT ? err_set(err, errno, "cannot take over %s: %s", p->path, strerror(errno)) : 0;
}

/* The group is set before the mode, so that nobody else can connect in between. */
static int open_to_all(const struct local_place *p)
{
	bool group = p->mode & 070 && !(p->mode & 07);
	gid_t g = group ? local_group() : (gid_t)-1;
	if (group && (g == (gid_t)-1 || chown(p->path, (uid_t)-1, g)))
		return 0;
	return chmod(p->path, p->mode);
}

int local_listen(const struct local_place *p, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (strlen(p->path) >= sizeof(a.sun_path))
		return err_set(err, ENAMETOOLONG, "%s %s is too long for a socket's path", p->option, p->path);
	strcpy(a.sun_path, p->path);
	int rc = clear_place(p, &a, err);
	if (rc)
		return rc;
	int fd = socket(AF_UNIX, p->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(0177);
	bool failed = fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) || open_to_all(p) || listen(fd, p->backlog);
	if (failed)
		rc = err_set(err, errno, "cannot listen at %s: %s: run as root, or choose another path with %s", p->path,
			     strerror(errno), p->option);
	umask(mask);
	if (failed && fd >= 0)
		close(fd);
	return failed ? rc : fd;
}
