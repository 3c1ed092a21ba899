/* SPDX-License-Identifier: Apache-2.0 */
/* intake/queue: records come out as they went in, also when a thread helps a late reader. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

#include "bpfhost/ring.h"
#include "intake/queue.h"

#define MANY 100000
#define RING_SZ (16u << 20)
#define ROOM (64u << 20)
#define LEFT (600u << 10) /* somewhat more than what is left to the reader */

/* Record n is size_of(n) bytes that begin with n. */
static uint64_t written;
static int calls_fd; /* in place of the map of calls */

struct ring_buffer *__wrap_ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx, const void *opts);
int __wrap_ring_buffer__consume(struct ring_buffer *r);
void __wrap_ring_buffer__free(struct ring_buffer *r);

static size_t size_of(uint64_t n)
{
	return 8 + n * 7 % 120;
}

struct ring_buffer *__wrap_ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx, const void *opts)
{
	(void)fn, (void)ctx, (void)opts;
	assert_int_equal(fd, calls_fd);
	return (struct ring_buffer *)&calls_fd;
}

int __wrap_ring_buffer__consume(struct ring_buffer *r)
{
	eventfd_t n;
	(void)r;
	return eventfd_read(calls_fd, &n);
}

void __wrap_ring_buffer__free(struct ring_buffer *r)
{
	(void)r;
}

static int begin_with(void **state, uint64_t room)
{
	struct err err;
	written = 0;
	calls_fd = eventfd(0, EFD_NONBLOCK);
	if (calls_fd < 0 || host_ring_open(RING_SZ))
		return -1;
	host_ring.calls_fd = calls_fd;
	struct queue_source from = { .ring_fd = host_ring.fd, .calls_fd = calls_fd, .ring_sz = RING_SZ };
	*state = queue_new(&from, room, &err);
	return *state ? 0 : -1;
}

static int begin(void **state)
{
	return begin_with(state, 0);
}

static int begin_with_room(void **state)
{
	return begin_with(state, ROOM);
}

static int end(void **state)
{
	queue_free(*state);
	close(calls_fd);
	return host_ring_close();
}

static bool is_called(void)
{
	struct pollfd p = { .fd = calls_fd, .events = POLLIN };
	return poll(&p, 1, 0) == 1;
}

static void write_up_to(uint64_t n)
{
	for (; written < n; written++) {
		uint64_t *e = ring_reserve(size_of(written));
		assert_non_null(e);
		*e = written;
		ring_submit(e, (uint32_t)size_of(written), false);
	}
}

static void expect(struct queue *q, uint64_t first, uint64_t end)
{
	for (uint64_t n = first; n < end; n++) {
		size_t size;
		const void *record = queue_next(q, &size);
		assert_non_null(record);
		assert_memory_equal(record, &n, sizeof(n));
		assert_int_equal(size, size_of(n));
	}
}

static void assert_empty(struct queue *q)
{
	size_t size;
	assert_null(queue_next(q, &size));
	assert_int_equal(queue_backlog(q), 0);
}

static void records_keep_their_order(void **state)
{
	assert_empty(*state);
	write_up_to(MANY);
	expect(*state, 0, MANY);
	assert_empty(*state);
}

/* What comes while a batch is handled is behind it, and empty is only what is empty in the ring, too. */
static void more_come_meanwhile(void **state)
{
	for (uint64_t n = 0; n < MANY; n += 3) {
		write_up_to(n + 2);
		expect(*state, n, n + 1);
		write_up_to(n + 3);
		expect(*state, n + 1, n + 3);
		assert_empty(*state);
	}
}

static void unread_bytes_are_counted_wherever_they_are(void **state)
{
	write_up_to(MANY);
	uint64_t all = 0;
	for (uint64_t n = 0; n < MANY; n++)
		all += ALYS_RING_ENTRY(size_of(n));
	assert_int_equal(queue_backlog(*state), all);
	expect(*state, 0, 1);
	uint64_t one = queue_backlog(*state);
	expect(*state, 1, 2);
	assert_int_equal(one - queue_backlog(*state), sizeof(uint64_t) + (size_of(1) + 7) / 8 * 8);
}

/* Until all has been read: what is still being written, too. */
static void calls_are_answered_at_the_end(void **state)
{
	uint64_t *late = ring_reserve(size_of(0));
	size_t size;
	assert_non_null(late);
	written = 1;
	write_up_to(2);
	ring_call();
	assert_null(queue_next(*state, &size));
	assert_true(is_called());
	*late = 0;
	ring_submit(late, (uint32_t)size_of(0), false);
	expect(*state, 0, 2);
	assert_empty(*state);
	assert_false(is_called());
}

/* What is unread in the ring is moved, but for what is left to the reader, which stays called. */
static void a_late_reader_is_helped(void **state)
{
	size_t size;
	assert_null(queue_next(*state, &size));
	write_up_to(MANY);
	uint64_t all = queue_backlog(*state);
	ring_call();
	for (int i = 0; i < 5000 && host_ring.at->written - host_ring.at->read > LEFT; i++)
		usleep(1000);
	assert_true(host_ring.at->written - host_ring.at->read <= LEFT);
	assert_true(is_called());
	assert_int_equal(queue_backlog(*state), all);
	expect(*state, 0, MANY);
	assert_empty(*state);
	assert_false(is_called());
}

static void what_is_left_can_be_dropped(void **state)
{
	write_up_to(MANY);
	ring_call();
	queue_reset(*state);
	assert_empty(*state);
	assert_false(is_called());
	write_up_to(MANY + 3);
	expect(*state, MANY, MANY + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_keep_their_order, begin, end),
		cmocka_unit_test_setup_teardown(more_come_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(unread_bytes_are_counted_wherever_they_are, begin, end),
		cmocka_unit_test_setup_teardown(calls_are_answered_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(a_late_reader_is_helped, begin_with_room, end),
		cmocka_unit_test_setup_teardown(what_is_left_can_be_dropped, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
