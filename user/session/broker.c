/* session/broker: see broker.h. */
#include "session/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/handover.h"
#include "base/rights.h"
#include "session/fence.h"

#define USER "alys"
#define NOBODY 65534
#define SITES_MAX 2048
#define PATH_SZ 4200
#define ARRAY_MAX (64u << 20)

enum wish { WISH_OPEN = 1, WISH_READ_LINK, WISH_LINK, WISH_TRACEPOINT, WISH_ARRAY, WISH_MAPPINGS };

/* One packet each way; a descriptor may go along. */
struct ask {
	uint32_t wish;
	int32_t number; /* flags, CPU, or a program's descriptor: the broker has the same ones */
	uint32_t attach_type, flags, tgid, cnt;
	union {
		char path[PATH_SZ];
		struct {
			uint64_t offsets[SITES_MAX], cookies[SITES_MAX];
		};
	};
};

struct answer {
	int32_t rc;
	char text[PATH_SZ];
};

/* --- the collector's side ---------------------------------------------------------------------- */

static int call(void *ctx, const struct ask *a, size_t n, int fd, struct answer *out)
{
	static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;
	const struct broker *b = ctx;
	int got = -1;
	pthread_mutex_lock(&one_by_one);
	int rc = handover_send(b->sock, a, n, fd, 0);
	if (!rc && handover_receive(b->sock, out, sizeof(*out), &got) < (ssize_t)sizeof(out->rc))
		rc = -EPIPE;
	pthread_mutex_unlock(&one_by_one);
	if (rc)
		return rc;
	return out->rc < 0 || got < 0 ? out->rc : got;
}

static int call_path(void *ctx, enum wish wish, const char *path, int number, struct answer *out)
{
	struct ask a = { .wish = wish, .number = number };
	size_t n = strlen(path) + 1;
	if (n > sizeof(a.path))
		return -ENAMETOOLONG;
	memcpy(a.path, path, n);
	return call(ctx, &a, offsetof(struct ask, path) + n, -1, out);
}

static int ask_open(void *ctx, const char *path, int flags)
{
	struct answer out;
	return call_path(ctx, WISH_OPEN, path, flags, &out);
}

static int ask_read_link(void *ctx, const char *path, char *out, size_t cap)
{
	struct answer a;
	int rc = call_path(ctx, WISH_READ_LINK, path, 0, &a);
	if (rc < 0)
		return rc;
	size_t n = (size_t)rc < cap ? (size_t)rc : cap;
	if (n > sizeof(a.text))
		return -EPROTO;
	memcpy(out, a.text, n);
	return (int)n;
}

static int ask_link(void *ctx, const struct rights_link *l)
{
	struct ask a = { .wish = WISH_LINK, .number = l->prog_fd, .attach_type = l->attach_type, .flags = l->flags,
			 .tgid = l->tgid, .cnt = l->cnt };
	struct answer out;
	if (l->cnt > SITES_MAX)
		return -E2BIG;
	memcpy(a.offsets, l->offsets, l->cnt * sizeof(a.offsets[0]));
	memcpy(a.cookies, l->cookies, l->cnt * sizeof(a.cookies[0]));
	return call(ctx, &a, sizeof(a), l->file_fd, &out);
}

static int ask_tracepoint(void *ctx, const char *name, int prog_fd)
{
	struct answer out;
	return call_path(ctx, WISH_TRACEPOINT, name, prog_fd, &out);
}

static int ask_array(void *ctx, const char *name, uint32_t value_sz)
{
	struct answer out;
	return call_path(ctx, WISH_ARRAY, name, (int)value_sz, &out);
}

static int ask_mappings(void *ctx, int cpu)
{
	struct answer out;
	return call_path(ctx, WISH_MAPPINGS, "", cpu, &out);
}

/* --- the broker's side ------------------------------------------------------------------------- */

/* The digits behind "/proc/"; what follows them goes to *rest. 0: no such path. */
static uint32_t split_path(const char *path, const char **rest)
{
	uint32_t pid;
	int n = 0;
	if (sscanf(path, "/proc/%9" SCNu32 "/%n", &pid, &n) != 1 || !n)
		return 0;
	*rest = path + n;
	return pid;
}

/*
 * What a descriptor of O_PATH, which is taken, stands for, to be read, if that is a file: of pipes and devices the opening
 * alone would be felt by others.
 */
static int open_file(int place)
{
	char path[32];
	struct stat st;
	if (place < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	int rc = fstat(place, &st) ? -errno : !S_ISREG(st.st_mode) ? -EACCES : rights_own.open(NULL, path, O_RDONLY | O_NONBLOCK);
	close(place);
	return rc;
}

/* In the process' own view; links stay in it. Nothing but files is given out, and /tmp as a place. */
static int open_in_root(uint32_t pid, const char *path, int flags)
{
	char root[32];
	bool place = flags & O_PATH;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (place ? O_DIRECTORY : 0),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	if (place && strcmp(path, "tmp"))
		return -EACCES;
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how)), code = errno;
	close(at);
	errno = code;
	return fd >= 0 && place ? fd : open_file(fd);
}

static int open_mapped(uint32_t pid, uint64_t start, uint64_t end)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return open_file(open(path, O_PATH | O_CLOEXEC));
}

/* Paths are made anew from what they mean; what means nothing here is refused. */
static int do_open(const char *path, int flags)
{
	char again[64];
	const char *rest;
	uint64_t start, end;
	int n = 0;
	uint32_t pid = split_path(path, &rest);
	if (!pid)
		return -EACCES;
	if (!strncmp(rest, "root/", 5))
		return open_in_root(pid, rest + 5, flags);
	if (sscanf(rest, "map_files/%" SCNx64 "-%" SCNx64 "%n", &start, &end, &n) == 2 && !rest[n])
		return open_mapped(pid, start, end);
	if (strcmp(rest, "maps") && strcmp(rest, "mem"))
		return -EACCES;
	snprintf(again, sizeof(again), "/proc/%u/%s", pid, rest);
	return rights_own.open(NULL, again, O_RDONLY);
}

static int do_read_link(const char *path, struct answer *out)
{
	char again[64];
	const char *rest;
	uint32_t pid = split_path(path, &rest);
	if (!pid || strcmp(rest, "exe"))
		return -EACCES;
	snprintf(again, sizeof(again), "/proc/%u/exe", pid);
	return rights_own.read_link(NULL, again, out->text, sizeof(out->text));
}

static int do_link(const struct ask *a, size_t n, int file_fd)
{
	struct rights_link l = { .prog_fd = a->number, .file_fd = file_fd, .attach_type = a->attach_type,
				 .flags = a->flags, .tgid = a->tgid, .cnt = a->cnt,
				 .offsets = a->offsets, .cookies = a->cookies };
	return n == sizeof(*a) && a->cnt <= SITES_MAX && file_fd >= 0 ? rights_own.link(NULL, &l) : -EPROTO;
}

/* A descriptor, or a number; *passes says which. */
static int grant(struct ask *a, size_t n, int fd, struct answer *out, bool *passes)
{
	bool text = n > offsetof(struct ask, path) && n <= sizeof(*a) && memchr(a->path, 0, n - offsetof(struct ask, path));
	*passes = a->wish != WISH_READ_LINK;
	if (n < offsetof(struct ask, path) || (a->wish != WISH_LINK && !text))
		return -EPROTO;
	switch (a->wish) {
	case WISH_OPEN:
		return do_open(a->path, a->number);
	case WISH_READ_LINK:
		return do_read_link(a->path, out);
	case WISH_LINK:
		return do_link(a, n, fd);
	case WISH_TRACEPOINT:
		return rights_own.tracepoint(NULL, a->path, a->number);
	case WISH_ARRAY:
		return (uint32_t)a->number <= ARRAY_MAX ? rights_own.array(NULL, a->path, (uint32_t)a->number) : -E2BIG;
	case WISH_MAPPINGS:
		return rights_own.mappings(NULL, a->number);
	default:
		return -EPROTO;
	}
}

/* False when the collector is gone. */
static bool serve_one(const struct broker *b)
{
	static struct ask a; /* too large for a stack */
	struct answer out = { 0 };
	int fd;
	bool passes;
	ssize_t n = handover_receive(b->sock, &a, sizeof(a), &fd);
	if (n <= 0)
		return false;
	out.rc = grant(&a, (size_t)n, fd, &out, &passes);
	int given = passes && out.rc >= 0 ? out.rc : -1;
	size_t length = passes || out.rc < 0 ? sizeof(out.rc) : sizeof(out);
	int rc = handover_send(b->sock, &out, length, given, 0);
	if (given >= 0)
		close(given);
	if (fd >= 0)
		close(fd);
	return !rc;
}

int broker_serve(struct broker *b, int signals)
{
	struct pollfd fds[] = { { .fd = b->sock, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	int status;
	for (bool there = true; there;) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		while (read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (!b->hands_on || b->hands_on(b->ctx, (int)info.ssi_signo))
				kill(b->pid, (int)info.ssi_signo);
		}
		if (fds[0].revents)
			there = serve_one(b);
	}
	close(b->sock);
	while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* --- the split --------------------------------------------------------------------------------- */

void broker_choose_user(struct broker *b)
{
	bool may = caps_has(CAP_SETUID) && caps_has(CAP_SETGID);
	const struct passwd *p = may ? getpwnam(USER) : NULL;
	b->uid = p ? p->pw_uid : may ? NOBODY : geteuid();
	b->gid = p ? p->pw_gid : may ? NOBODY : getegid();
}

static int give_up_rights(const struct broker *b)
{
	struct rlimit no_core = { 0, 0 };
	if (b->uid != geteuid() && ((setgroups(0, NULL) && errno != EPERM) || setresgid(b->gid, b->gid, b->gid) ||
				    setresuid(b->uid, b->uid, b->uid)))
		return -errno;
	if (caps_drop_all() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    setrlimit(RLIMIT_CORE, &no_core) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return 0;
}

int broker_split(struct broker *b, struct err *err)
{
	static struct rights asking = {
		.open = ask_open, .read_link = ask_read_link, .link = ask_link, .tracepoint = ask_tracepoint,
		.array = ask_array, .mappings = ask_mappings,
	};
	int pair[2], size = 4 * (int)sizeof(struct ask);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(err, errno, "socketpair: %s", strerror(errno));
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	b->pid = fork();
	if (b->pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return err_set(err, errno, "cannot start the collector: %s", strerror(errno));
	}
	b->sock = pair[b->pid ? 0 : 1];
	close(pair[b->pid ? 1 : 0]);
	if (b->pid)
		return 0;
	int rc = give_up_rights(b);
	if (rc)
		return err_set(err, -rc, "the collector cannot give up its rights: %s", strerror(-rc));
	/* One wall more than those above: the daemon goes on without it, and says so. */
	b->fenced = fence_raise(b->writable);
	asking.ctx = b;
	rights_lend(&asking);
	return 0;
}
