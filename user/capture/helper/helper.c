/* SPDX-License-Identifier: Apache-2.0 */
/* helper: see helper.h. */
#include "helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/rights.h"
#include "base/clock.h"
#include "base/text.h"
#include "helper/child.h"

#define TIMEOUT_NS 2000000000ull
#define LOOK_MS 50

static _Atomic bool in_a_hurry;

/* Duplicates fd above the numbers that the helper's own descriptors get. */
static int lift(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 16);
}

/*
 * The helper's whole environment, because ours is meant for us. jemalloc needs 2.6 KB of the static TLS for libraries
 * that are loaded late, more than there is by default.
 */
#define STATIC_TLS "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"

static int spawn(struct helper *h, const char *word, int library, int go, int out)
{
	char *argv[] = { (char *)"alys-bpf", (char *)word, NULL }, *envp[] = { (char *)STATIC_TLS, NULL };
	posix_spawn_file_actions_t acts;
	posix_spawnattr_t attr;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&acts);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&acts, fd, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&acts, library, CHILD_FD_LIBRARY);
	posix_spawn_file_actions_adddup2(&acts, go, CHILD_FD_GO);
	posix_spawn_file_actions_adddup2(&acts, out, CHILD_FD_OUT);
	posix_spawn_file_actions_addclosefrom_np(&acts, CHILD_FD_OUT + 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	int rc = posix_spawn(&h->pid, "/proc/self/exe", &acts, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&acts);
	h->pid = rc ? 0 : h->pid;
	return rc;
}

int helper_start(struct helper *h, const char *word, int file_fd, struct err *err)
{
	int go[2] = { -1, -1 }, out[2] = { -1, -1 }, rc = 0;
	if (pipe2(go, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		rc = errno;
	int theirs[] = { lift(file_fd), rc ? -1 : lift(go[0]), rc ? -1 : lift(out[1]) };
	if (!rc)
		rc = theirs[0] < 0 || theirs[1] < 0 || theirs[2] < 0 ? EMFILE : spawn(h, word, theirs[0], theirs[1], theirs[2]);
	int spare[] = { theirs[0], theirs[1], theirs[2], go[0], out[1] };
	for (size_t i = 0; i < sizeof(spare) / sizeof(spare[0]); i++) {
		if (spare[i] >= 0)
			close(spare[i]);
	}
	h->go = go[1];
	h->out = out[0];
	h->until_ns = now_ns() + TIMEOUT_NS;
	return rc ? err_set(err, rc, "the helper cannot be started: %s", strerror(rc)) : 0;
}

void helper_cancel_waits(bool on)
{
	in_a_hurry = on;
}

void helper_end(struct helper *h)
{
	if (h->pid) {
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
	}
	if (h->go >= 0)
		close(h->go);
	if (h->out >= 0)
		close(h->out);
}

ssize_t helper_read(const struct helper *h, void *bytes, size_t n, struct err *err)
{
	struct pollfd fd = { .fd = h->out, .events = POLLIN };
	uint64_t now;
	int rc;
	do {
		now = now_ns();
		rc = poll(&fd, 1, now < h->until_ns ? LOOK_MS : 0);
	} while (!rc && now < h->until_ns && !in_a_hurry);
	if (rc <= 0)
		return err_set(err, rc ? errno : ETIMEDOUT, "the helper did not answer in time");
	ssize_t got = read(h->out, bytes, n);
	return got < 0 ? err_set(err, errno, "the helper: %s", strerror(errno)) : got;
}

int helper_read_all(const struct helper *h, void *bytes, size_t n, struct err *err)
{
	for (size_t len = 0; len < n;) {
		ssize_t got = helper_read(h, (char *)bytes + len, n - len, err);
		if (got <= 0)
			return got ? (int)got : err_set(err, EPIPE, "the helper did not survive filling a heap");
		len += (size_t)got;
	}
	return 0;
}

/* The library's code may have run in the helper, so the text may be its own. */
static int read_failure(const struct helper *h, struct err *err)
{
	static const char prefix[] = CHILD_LIBRARY ": ";
	char why[201] = "";
	struct buf words = { 0 };
	size_t len = 0, from;
	ssize_t got;
	while (len < sizeof(why) - 1 && (got = helper_read(h, why + len, sizeof(why) - 1 - len, NULL)) > 0)
		len += (size_t)got;
	why[len] = 0;
	from = strncmp(why, prefix, strlen(prefix)) ? 0 : strlen(prefix);
	text_json(&words, why + from);
	err_set(err, ELIBACC, "it cannot be loaded alone; the loader says: %s", buf_str(&words));
	buf_free(&words);
	return -ELIBACC;
}

void helper_go(struct helper *h)
{
	close(h->go);
	h->go = -1;
}

int helper_await(const struct helper *h, struct err *err)
{
	char first;
	ssize_t got = helper_read(h, &first, 1, err);
	if (got < 0)
		return (int)got;
	if (got == 1 && first == CHILD_FAILED)
		return read_failure(h, err);
	return got == 1 && first == CHILD_READY ? 0 : err_set(err, EPIPE, "the helper did not survive loading it");
}

/* Dependencies are searched among our own libraries; files of a container need others. */
static bool is_elsewhere(int file_fd)
{
	return rights_ours(file_fd) != 1;
}

int helper_check(int file_fd, bool program, struct err *err)
{
	if (program)
		return err_set(err, ELIBEXEC, "an executable cannot be loaded alone");
	if (is_elsewhere(file_fd))
		return err_set(err, ELIBACC,
			       "a file outside our mount namespace (of a container, deleted, replaced) is not loaded");
	return 0;
}
