/* SPDX-License-Identifier: Apache-2.0 */
/* intake/queue: records come out as they went in. The thread that helps a late reader is tested with real probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

#include "alys.h"
#include "intake/queue.h"

#define LONGEST (sizeof(struct alys_ev_stack) + ALYS_MAX_FRAMES * sizeof(uint64_t))
#define MANY 100000

/* In place of the kernel's ring: record n is size_of(n) bytes that begin with n. Its positions count records. */
static struct {
	ring_buffer_sample_fn fn;
	void *ctx;
	uint64_t read, written; /* records */
	size_t size;            /* of each; 0 = they differ */
	unsigned long *positions;
	int fd;
} ring;

struct ring_buffer *__wrap_ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx, const void *opts);
int __wrap_ring_buffer__consume(struct ring_buffer *r);
void __wrap_ring_buffer__free(struct ring_buffer *r);

static size_t size_of(uint64_t n)
{
	return ring.size ?: 8 + n * 7 % 120;
}

struct ring_buffer *__wrap_ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx, const void *opts)
{
	(void)fd;
	(void)opts;
	ring.fn = fn;
	ring.ctx = ctx;
	return (struct ring_buffer *)&ring;
}

int __wrap_ring_buffer__consume(struct ring_buffer *r)
{
	static unsigned char record[2 * LONGEST];
	int rc = 0;
	(void)r;
	while (!rc && ring.read < ring.written) {
		memcpy(record, &ring.read, sizeof(ring.read));
		rc = ring.fn(ring.ctx, record, size_of(ring.read));
		ring.positions[0] = ++ring.read;
	}
	return rc;
}

void __wrap_ring_buffer__free(struct ring_buffer *r)
{
	(void)r;
}

static int begin(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	struct err err;
	memset(&ring, 0, sizeof(ring));
	ring.fd = memfd_create("ring", 0);
	if (ring.fd < 0 || ftruncate(ring.fd, 2 * page))
		return -1;
	ring.positions = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	*state = queue_new(ring.fd, 0, &err);
	return *state ? 0 : -1;
}

static int end(void **state)
{
	queue_free(*state);
	munmap(ring.positions, 2 * (size_t)sysconf(_SC_PAGESIZE));
	return close(ring.fd);
}

static void write_up_to(uint64_t n)
{
	ring.written = n;
	ring.positions[(size_t)sysconf(_SC_PAGESIZE) / sizeof(*ring.positions)] = n;
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
		write_up_to(n + 3);
		expect(*state, n, n + 2);
		write_up_to(n + 3);
		expect(*state, n + 2, n + 3);
		assert_empty(*state);
	}
}

static void unread_bytes_are_counted_wherever_they_are(void **state)
{
	write_up_to(MANY);
	assert_int_equal(queue_backlog(*state), MANY);
	expect(*state, 0, 1);
	uint64_t one = queue_backlog(*state);
	expect(*state, 1, 2);
	assert_int_equal(one - queue_backlog(*state), sizeof(uint64_t) + (size_of(1) + 7) / 8 * 8);
}

static void longer_records_than_ours_are_cut(void **state)
{
	size_t size;
	ring.size = 2 * LONGEST;
	write_up_to(1);
	assert_non_null(queue_next(*state, &size));
	assert_int_equal(size, LONGEST);
	assert_empty(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_keep_their_order, begin, end),
		cmocka_unit_test_setup_teardown(more_come_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(unread_bytes_are_counted_wherever_they_are, begin, end),
		cmocka_unit_test_setup_teardown(longer_records_than_ours_are_cut, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
