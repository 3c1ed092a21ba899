/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/server: which clients get a connection to the control socket, and that their ends are reported. Root plays the
 * users.
 */
#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/server.h"

#define STRANGER 64101
#define ANOTHER 64102
#define ASK "A\1status"

struct told {
	size_t asked, gone;
	uid_t last[64];
};

static void on_request(void *ctx, struct client *c, const struct request *r, uid_t uid, bool full)
{
	struct told *t = ctx;
	(void)c, (void)r, (void)full;
	t->last[t->asked++ % 64] = uid;
}

static void on_gone(void *ctx, const struct client *c)
{
	struct told *t = ctx;
	(void)c;
	t->gone++;
}

struct place {
	char folder[32], path[48];
	struct told told;
	struct server *server;
};

static int open_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct server_ops ops = { .ctx = &p->told, .request = on_request, .gone = on_gone };
	strcpy(p->folder, "/tmp/alys-server-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	chmod(p->folder, 0755);
	snprintf(p->path, sizeof(p->path), "%s/ctl", p->folder);
	p->server = server_open(p->path, &ops, NULL);
	assert_non_null(p->server);
	*state = p;
	return 0;
}

static int close_place(void **state)
{
	struct place *p = *state;
	server_close(p->server);
	rmdir(p->folder);
	free(p);
	return 0;
}

/* Connects as a user, with a request that is never answered. */
static int ask_as(const struct place *p, uid_t uid)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	strcpy(a.sun_path, p->path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(seteuid(0), 0);
	send(fd, ASK, sizeof(ASK), MSG_NOSIGNAL);
	return fd;
}

/* Each round serves one request of each user. */
static void work(const struct place *p)
{
	for (int i = 0; i < 2 * SERVER_CLIENTS; i++)
		server_work(p->server);
}

static bool is_open(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static size_t count_open(const int *fds, size_t n)
{
	size_t open = 0;
	for (size_t i = 0; i < n; i++)
		open += is_open(fds[i]);
	return open;
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

static void those_who_asked_make_room(void **state)
{
	struct place *p = *state;
	int held[SERVER_CLIENTS], others[3];
	if (geteuid())
		skip();
	for (size_t i = 0; i < SERVER_CLIENTS; i++)
		held[i] = ask_as(p, STRANGER);
	work(p);
	assert_int_equal(p->told.asked, SERVER_CLIENTS);
	/* Another user with several connections, and a client with all rights. */
	others[0] = ask_as(p, ANOTHER);
	others[1] = ask_as(p, ANOTHER);
	others[2] = ask_as(p, 0);
	work(p);
	assert_int_equal(p->told.asked, SERVER_CLIENTS + 3);
	assert_int_equal(p->told.gone, 3);
	assert_int_equal(count_open(others, 3), 3);
	assert_int_equal(count_open(held, SERVER_CLIENTS), SERVER_CLIENTS - 3);
	close_all(others, 3);
	close_all(held, SERVER_CLIENTS);
}

static void nobody_gets_more_than_half_from_others(void **state)
{
	struct place *p = *state;
	int first[SERVER_CLIENTS], second[SERVER_CLIENTS];
	if (geteuid())
		skip();
	for (size_t i = 0; i < SERVER_CLIENTS; i++)
		first[i] = ask_as(p, STRANGER);
	work(p);
	for (size_t i = 0; i < SERVER_CLIENTS; i++) {
		second[i] = ask_as(p, ANOTHER);
		work(p);
	}
	assert_in_range(count_open(first, SERVER_CLIENTS), SERVER_CLIENTS / 2 - 1, SERVER_CLIENTS / 2 + 1);
	assert_in_range(count_open(second, SERVER_CLIENTS), SERVER_CLIENTS / 2 - 1, SERVER_CLIENTS / 2 + 1);
	close_all(first, SERVER_CLIENTS);
	close_all(second, SERVER_CLIENTS);
}

static void users_take_turns(void **state)
{
	struct place *p = *state;
	int held[9];
	if (geteuid())
		skip();
	for (size_t i = 0; i < 8; i++)
		held[i] = ask_as(p, STRANGER);
	held[8] = ask_as(p, ANOTHER);
	server_work(p->server); /* accepts them */
	server_work(p->server);
	assert_int_equal(p->told.asked, 2);
	assert_true(p->told.last[0] == ANOTHER || p->told.last[1] == ANOTHER);
	close_all(held, 9);
}

static void detaching_is_told(void **state)
{
	struct place *p = *state;
	int fd = ask_as(p, geteuid());
	work(p);
	assert_int_equal(p->told.asked, 1);
	assert_int_equal(p->told.gone, 0);
	close(fd);
	work(p);
	assert_int_equal(p->told.gone, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(those_who_asked_make_room, open_place, close_place),
		cmocka_unit_test_setup_teardown(nobody_gets_more_than_half_from_others, open_place, close_place),
		cmocka_unit_test_setup_teardown(users_take_turns, open_place, close_place),
		cmocka_unit_test_setup_teardown(detaching_is_told, open_place, close_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
