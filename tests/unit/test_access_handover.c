/* SPDX-License-Identifier: Apache-2.0 */
/* access/handover: packets with and without a descriptor; no descriptor leaks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/handover.h"

/* The number that the next descriptor gets: unchanged if none leaked. */
static int next_number(void)
{
	int fd = open("/dev/null", O_RDONLY);
	close(fd);
	return fd;
}

static void test_packets(void **state)
{
	char got[8];
	int pair[2], fd = 0;
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	int before = next_number();
	int null = open("/dev/null", O_RDONLY);
	assert_int_equal(handover_send(pair[0], "one", 3, -1, 0), 0);
	assert_int_equal(handover_send(pair[0], "four", 4, null, 0), 0);
	assert_int_equal(handover_receive(pair[1], got, sizeof(got), &fd), 3);
	assert_int_equal(fd, -1);
	assert_int_equal(handover_receive(pair[1], got, sizeof(got), &fd), 4);
	assert_memory_equal(got, "four", 4);
	assert_true(fd > null && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	/* No request waits for it, and the packet is too long for any that would. */
	assert_int_equal(handover_send(pair[0], "five5", 5, null, 0), 0);
	assert_int_equal(handover_receive(pair[1], got, sizeof(got), NULL), 5);
	assert_int_equal(handover_send(pair[0], "123456789", 9, null, 0), 0);
	assert_int_equal(handover_receive(pair[1], got, sizeof(got), &fd), -EBADMSG);
	assert_int_equal(fd, -1);
	close(null);
	assert_int_equal(next_number(), before);
	close(pair[0]);
	assert_int_equal(handover_receive(pair[1], got, sizeof(got), &fd), 0);
	assert_int_equal(handover_send(pair[1], "x", 1, -1, 0), -EPIPE);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_packets) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
