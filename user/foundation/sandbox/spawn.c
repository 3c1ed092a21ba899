/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/spawn: see spawn.h. */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts the worker without our descriptors and signal settings. */
static int start(pid_t *pid, const char *program, const char *name, int sock)
{
	char *argv[] = { (char *)(uintptr_t)name, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t set;
	int rc = posix_spawn_file_actions_init(&files);
	if (rc)
		return -rc;
	rc = posix_spawnattr_init(&attr);
	if (rc) {
		posix_spawn_file_actions_destroy(&files);
		return -rc;
	}
	rc = posix_spawn_file_actions_adddup2(&files, sock, WORKER_SOCKET);
	/* stderr is discarded: a compromised worker must not write to the terminal. */
	for (int fd = 0; !rc && fd < 3; fd++)
		rc = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(&files, WORKER_SOCKET + 1);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!rc)
		rc = posix_spawn(pid, program, &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -rc;
}

int spawn_worker(struct spawned *h, const char *program, const char *name)
{
	int pair[2];
	*h = (struct spawned){ .sock = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	int rc = start(&h->pid, program ? program : "/proc/self/exe", name, pair[1]);
	close(pair[1]);
	if (rc) {
		h->pid = 0;
		close(pair[0]);
		return rc;
	}
	/* Our end only: a worker that does not read must not block us. */
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	h->sock = pair[0];
	return 0;
}

void spawn_end(struct spawned *h)
{
	if (!h->pid)
		return;
	kill(h->pid, SIGKILL);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(h->sock);
	*h = (struct spawned){ .sock = -1 };
}
