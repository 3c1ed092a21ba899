/* SPDX-License-Identifier: Apache-2.0 */
/* access/environment: see environment.h. */
#include "access/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/handover.h"
#include "base/clock.h"
#include "sandbox/jail.h"
#include "sandbox/spawn.h"

#define MS 1000000ull
#define DEADLINE_MS 100
#define START_MS 2000 /* of a worker: no process can make that longer */
#define ENVIRON_MAX (128u * 1024)
#define USERS 64 /* more share */

static const char worker_name[] = "alys-environment";

struct reply {
	uint32_t size;
	char text[ENVIRONMENT_SZ];
};

/* --- the worker -------------------------------------------------------------------------------- */

static size_t read_all(int fd, char *out, size_t cap)
{
	size_t n = 0;
	for (ssize_t got; n < cap && (got = read(fd, out + n, cap - n)) > 0;)
		n += (size_t)got;
	return n;
}

static bool is_wanted(const char *variable)
{
	static const char *const names[] = { "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=" };
	bool wanted = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		wanted |= !strncmp(variable, names[i], strlen(names[i]));
	return wanted;
}

/* from ends with NUL. */
static void choose(const char *from, size_t n, struct reply *out)
{
	out->size = 0;
	for (size_t at = 0, size; at < n; at += size) {
		size = strlen(from + at) + 1;
		if (!is_wanted(from + at) || size > sizeof(out->text) - out->size)
			continue;
		memcpy(out->text + out->size, from + at, size);
		out->size += (uint32_t)size;
	}
}

static int worker_main(void)
{
	static char all[ENVIRON_MAX + 1];
	static struct reply reply;
	struct err err;
	int fd, rc = jail_enter(0, &err);
	char byte;
	rc = rc ?: handover_send(WORKER_SOCKET, "", 1, -1, 0);
	while (!rc && handover_receive(WORKER_SOCKET, &byte, sizeof(byte), &fd) == sizeof(byte)) {
		size_t n = fd >= 0 ? read_all(fd, all, ENVIRON_MAX) : 0;
		close(fd);
		all[n] = '\0';
		choose(all, n, &reply);
		rc = handover_send(WORKER_SOCKET, &reply, sizeof(reply), -1, 0);
		memset(all, 0, sizeof(all));
	}
	return rc != 0;
}

/* Runs before main, as dwarf/worker does. */
__attribute__((constructor)) static void become_worker(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], worker_name))
		_exit(worker_main());
}

/* --- the share of the time that it may take ------------------------------------------------------ */

/* Time that is left; it grows by `percent` of the time that passes, up to `most_ns`. */
struct allowance {
	uint64_t left_ns, at_ns;
};

static const struct terms {
	uint64_t most_ns;
	unsigned percent;
} of_user = { 1000 * MS, 5 }, of_all = { 4000 * MS, 20 };

static bool is_left(struct allowance *a, const struct terms *t, uint64_t now)
{
	uint64_t left = a->left_ns + (now - a->at_ns) / 100 * t->percent;
	*a = (struct allowance){ left < t->most_ns ? left : t->most_ns, now };
	return a->left_ns >= DEADLINE_MS * MS;
}

static void take(struct allowance *a, uint64_t ns)
{
	a->left_ns -= ns < a->left_ns ? ns : a->left_ns;
}

/* --- this side ----------------------------------------------------------------------------------- */

struct user {
	struct allowance left;
	pid_t stuck; /* a worker whose read has not ended, so that the kernel does not let it die; 0 = none */
};

static struct {
	pthread_mutex_t lock;
	struct spawned worker;
	struct user users[USERS];
	struct allowance left;
} here = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool has_stuck(struct user *u)
{
	if (u->stuck && waitpid(u->stuck, NULL, WNOHANG))
		u->stuck = 0;
	return u->stuck;
}

/* Killed, but not waited for. */
static void give_up(struct user *u)
{
	kill(here.worker.pid, SIGKILL);
	close(here.worker.sock);
	u->stuck = here.worker.pid;
	here.worker = (struct spawned){ .sock = -1 };
}

static int receive(void *out, size_t n, int ms)
{
	struct pollfd answer = { .fd = here.worker.sock, .events = POLLIN };
	if (poll(&answer, 1, ms) <= 0)
		return -ETIMEDOUT;
	return handover_receive(here.worker.sock, out, n, NULL) == (ssize_t)n ? 0 : -EPIPE;
}

/* Says when it is ready: on a busy machine its start takes longer than a read may. */
static int start_worker(void)
{
	char ready;
	int rc = spawn_worker(&here.worker, NULL, worker_name);
	return rc ?: receive(&ready, sizeof(ready), START_MS);
}

static int ask(int fd, struct reply *out)
{
	int rc = here.worker.pid ? 0 : start_worker();
	rc = rc ?: handover_send(here.worker.sock, "", 1, fd, 0);
	return rc ?: receive(out, sizeof(*out), DEADLINE_MS);
}

/* The real user, as a process chooses who owns its files in /proc. */
static long owner_of(uint32_t tgid)
{
	char path[40], text[4096];
	snprintf(path, sizeof(path), "/proc/%u/status", tgid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = fd >= 0 ? read_all(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	const char *line = strstr(text, "\nUid:");
	return line ? strtol(line + strlen("\nUid:"), NULL, 10) : -ESRCH;
}

/* The worker is not trusted. */
static int copy(const struct reply *from, char *out)
{
	if (from->size > sizeof(from->text) || (from->size && from->text[from->size - 1]))
		return -EPROTO;
	memcpy(out, from->text, from->size);
	return (int)from->size;
}

static int read_in_time(int fd, long owner, char *out)
{
	struct user *u = &here.users[owner % USERS];
	uint64_t began = now_ns();
	struct reply reply;
	bool user_may = is_left(&u->left, &of_user, began), all_may = is_left(&here.left, &of_all, began);
	int rc = user_may && all_may && !has_stuck(u) ? ask(fd, &reply) : -EBUSY;
	if (rc && rc != -EBUSY && here.worker.pid)
		give_up(u);
	take(&u->left, now_ns() - began);
	take(&here.left, now_ns() - began);
	return rc ?: copy(&reply, out);
}

int environment_read(uint32_t tgid, char *out)
{
	char path[40];
	long owner = owner_of(tgid);
	snprintf(path, sizeof(path), "/proc/%u/environ", tgid);
	int fd = owner < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return owner < 0 ? (int)owner : -errno;
	pthread_mutex_lock(&here.lock);
	int rc = read_in_time(fd, owner, out);
	pthread_mutex_unlock(&here.lock);
	close(fd);
	return rc;
}
