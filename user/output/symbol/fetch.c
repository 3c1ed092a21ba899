/* SPDX-License-Identifier: Apache-2.0 */
/* symbol/fetch: see fetch.h. libdebuginfod is loaded only when needed, because it brings in curl, TLS and more. */
#include "symbol/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "sandbox/spawn.h"
#include "dwarf/packet.h"
#include "dwarf/want.h"

#define FETCHER_NAME "alys-debuginfo-fetcher"
#define REPLY_TIMEOUT_MS (120 * 1000) /* libdebuginfod's own timeout is 90 s */
#define REPORT_NS 200000000u

enum { FETCH_PROGRESS = 1, FETCH_DONE = 2 };

/* The user who called sudo, 0 if none. */
static uid_t caller(void)
{
	const char *text = getenv("SUDO_UID");
	return text ? (uid_t)strtoul(text, NULL, 10) : 0;
}

int fetch_check(struct err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !*urls)
		return err_set(err, EINVAL,
			       "--debuginfod needs servers: name them in DEBUGINFOD_URLS, as in "
			       "`sudo DEBUGINFOD_URLS=https://debuginfod.debian.net alys-bpf ...`");
	if (geteuid() == 0 && !caller())
		return err_set(err, EPERM,
			       "--debuginfod does not use the network as root: use sudo from a user's "
			       "account, or `alys-bpf convert --debuginfod` as that user");
	return 0;
}

static int drop_root(void)
{
	uid_t uid = caller();
	if (geteuid() != 0)
		return 0;
	const struct passwd *user = uid ? getpwuid(uid) : NULL;
	if (!user || setgroups(0, NULL) || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) || setresuid(uid, uid, uid))
		return -EPERM;
	setenv("HOME", user->pw_dir, 1); /* its cache is there */
	unsetenv("XDG_CACHE_HOME");
	return 0;
}

struct client;

static void report(uint8_t kind, long done, long total, int fd)
{
	struct buf out = { 0 };
	buf_u8(&out, kind);
	buf_varint(&out, done > 0 ? (uint64_t)done : 0);
	buf_varint(&out, total > 0 ? (uint64_t)total : 0);
	packet_send(WORKER_SOCKET, &out, fd);
	buf_free(&out);
}

static int on_progress(struct client *c, long done, long total)
{
	static uint64_t last_ns;
	uint64_t now = now_ns();
	(void)c;
	if (now - last_ns >= REPORT_NS)
		report(FETCH_PROGRESS, done, total, -1);
	last_ns = now - last_ns >= REPORT_NS ? now : last_ns;
	return 0;
}

static int find(const uint8_t *id, size_t n)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW);
	if (!lib)
		return -1;
	struct client *(*begin)(void) = (struct client * (*)(void)) dlsym(lib, "debuginfod_begin");
	void (*watch)(struct client *, int (*)(struct client *, long, long)) =
		(void (*)(struct client *, int (*)(struct client *, long, long)))dlsym(lib, "debuginfod_set_progressfn");
	int (*get)(struct client *, const unsigned char *, int, char **) =
		(int (*)(struct client *, const unsigned char *, int, char **))dlsym(lib, "debuginfod_find_debuginfo");
	struct client *c = begin && watch && get ? begin() : NULL;
	if (!c)
		return -1;
	watch(c, on_progress);
	return get(c, id, (int)n, NULL);
}

static int fetcher_main(void)
{
	static uint8_t in[PACKET_MAX];
	int n = packet_receive(WORKER_SOCKET, in, NULL);
	int fd = n > 1 && n <= WANT_ID_MAX && !drop_root() ? find(in, (size_t)n) : -1;
	report(FETCH_DONE, 0, 0, fd < 0 ? -1 : fd);
	return 0;
}

/* False when the exchange is over; *fd is the file, or -1. */
static bool receive_update(int sock, int *fd, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx)
{
	static uint8_t in[PACKET_MAX];
	struct pollfd p = { .fd = sock, .events = POLLIN };
	if (poll(&p, 1, REPLY_TIMEOUT_MS) <= 0)
		return false;
	int n = packet_receive(sock, in, fd);
	struct cursor c = cursor_over(in, n > 0 ? (size_t)n : 0);
	uint8_t kind = cursor_u8(&c);
	uint64_t done = cursor_varint(&c), total = cursor_varint(&c);
	if (kind != FETCH_PROGRESS || *fd >= 0)
		return false;
	if (progress && total && done <= total)
		progress(ctx, done, total);
	return true;
}

int fetch_debug(const uint8_t *id, size_t id_sz, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx)
{
	struct spawned h;
	struct buf out = { 0 };
	int fd = -1;
	if (id_sz < 2 || id_sz > WANT_ID_MAX || spawn_worker(&h, NULL, FETCHER_NAME))
		return -1;
	buf_add(&out, id, id_sz);
	if (!packet_send(h.sock, &out, -1))
		while (receive_update(h.sock, &fd, progress, ctx))
			;
	buf_free(&out);
	spawn_end(&h);
	return fd;
}

/* Runs before main, for the same reason as in worker.c. */
__attribute__((constructor)) static void become_fetcher(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], FETCHER_NAME))
		_exit(fetcher_main());
}
