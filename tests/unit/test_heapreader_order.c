/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/order: packets with more beside them, over one file in memory; an end that lies about it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "access/handover.h"
#include "heapreader/order.h"

struct packet {
	struct order_head head;
	uint64_t what;
};

static struct order_line ends[2];

static int begin(void **state)
{
	(void)state;
	return order_lines(ends);
}

static int finish(void **state)
{
	(void)state;
	close(ends[1].sock);
	order_line_close(&ends[0]);
	return 0;
}

static struct buf made(size_t n, uint8_t salt)
{
	struct buf b = { 0 };
	uint8_t *room = buf_room(&b, n + 1);
	for (size_t i = 0; i < n; i++)
		room[i] = (uint8_t)(i * 7 + salt);
	b.len = n;
	return b;
}

static size_t file_size(void)
{
	struct stat st;
	assert_int_equal(fstat(ends[0].file, &st), 0);
	return (size_t)st.st_size;
}

static void exchange(int from, size_t n, uint8_t salt)
{
	struct buf sent = made(n, salt), got = { 0 };
	struct packet p = { .what = salt }, q = { 0 };
	assert_int_equal(order_send(&ends[from], &p.head, sizeof(p), &sent), 0);
	assert_int_equal(order_receive(&ends[!from], &q.head, sizeof(q), &got), 0);
	assert_int_equal(q.what, salt);
	assert_int_equal(got.len, n);
	assert_true(!n || !memcmp(got.data, sent.data, n));
	buf_free(&sent);
	buf_free(&got);
}

/* What an earlier, longer one left behind is not taken for a part of the next. */
static void test_both_directions(void **state)
{
	static const size_t sizes[] = { 5000, 0, 1, 4096, 4095, 300000, 0, 17 };
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		exchange(0, sizes[i], (uint8_t)i);
		exchange(1, sizes[i] / 2, (uint8_t)(i + 100));
	}
	assert_int_equal(file_size(), 300000);
}

static void test_much_is_not_kept(void **state)
{
	(void)state;
	exchange(1, ORDER_KEPT_MAX + 1, 3);
	assert_int_equal(file_size(), 0);
	exchange(0, ORDER_KEPT_MAX, 4);
	assert_int_equal(file_size(), ORDER_KEPT_MAX);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	const struct buf failed = { .failed = true };
	struct packet p = { 0 };
	assert_int_equal(order_send(&ends[0], &p.head, sizeof(p), &failed), -ENOMEM);
}

static int receive_lie(uint64_t claimed)
{
	struct packet p = { .head.bulk = claimed }, q;
	struct buf got = { 0 };
	assert_int_equal(handover_send(ends[1].sock, &p, sizeof(p), -1, 0), 0);
	int rc = order_receive(&ends[0], &q.head, sizeof(q), &got);
	assert_int_equal(got.len, 0);
	buf_free(&got);
	return rc;
}

static void test_lies(void **state)
{
	(void)state;
	exchange(0, 100, 1);
	assert_int_equal(receive_lie(101), -EBADMSG);
	assert_int_equal(receive_lie((1ull << 30) + 1), -EBADMSG);
	assert_int_equal(receive_lie(UINT64_MAX), -EBADMSG);
	assert_int_equal(ftruncate(ends[1].file, 50), 0);
	assert_int_equal(receive_lie(100), -EBADMSG);
	exchange(1, 100, 2);
}

static void test_packets(void **state)
{
	(void)state;
	struct packet p = { 0 };
	struct buf got = { 0 };
	assert_int_equal(handover_send(ends[1].sock, &p, sizeof(p) - 1, -1, 0), 0);
	assert_int_equal(order_receive(&ends[0], &p.head, sizeof(p), &got), -EBADMSG);
	/* A descriptor that comes along is neither read nor kept. */
	int before = dup(STDIN_FILENO);
	close(before);
	assert_int_equal(handover_send(ends[1].sock, &p, sizeof(p), STDIN_FILENO, 0), 0);
	assert_int_equal(order_receive(&ends[0], &p.head, sizeof(p), &got), 0);
	assert_int_equal(fcntl(before, F_GETFD), -1);
	close(ends[1].sock);
	assert_int_equal(order_receive(&ends[0], &p.head, sizeof(p), &got), -EPIPE);
	assert_int_equal(got.len, 0);
}

/* Nobody can make the file unwritable for the other. */
static void test_no_seals(void **state)
{
	(void)state;
	assert_true(fcntl(ends[1].file, F_ADD_SEALS, F_SEAL_WRITE) < 0);
	exchange(0, 10, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_directions, begin, finish),
		cmocka_unit_test_setup_teardown(test_much_is_not_kept, begin, finish),
		cmocka_unit_test_setup_teardown(test_out_of_memory, begin, finish),
		cmocka_unit_test_setup_teardown(test_lies, begin, finish),
		cmocka_unit_test_setup_teardown(test_packets, begin, finish),
		cmocka_unit_test_setup_teardown(test_no_seals, begin, finish),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
