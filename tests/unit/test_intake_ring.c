/* SPDX-License-Identifier: Apache-2.0 */
/* intake/ring, and the programs' end of it: what threads write at once comes out whole and in order, once each. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpfhost/ring.h"
#include "intake/ring.h"

#define SIZE 16384u
#define LONGEST ((size_t)ALYS_RECORD_MAX)
#define WRITERS 4
#define EACH 200000u

static struct ring ring;

static int begin(void **state)
{
	(void)state;
	return host_ring_open(SIZE) || ring_open(&ring, host_ring.fd, SIZE);
}

static int end(void **state)
{
	(void)state;
	ring_close(&ring);
	return host_ring_close();
}

static bool put(const void *record, size_t n)
{
	void *e = ring_reserve(n);
	if (!e)
		return false;
	memcpy(e, record, n);
	ring_submit(e, (uint32_t)n, false);
	return true;
}

static void take_one(const void *record, size_t n)
{
	size_t size;
	const void *got = ring_front(&ring, &size);
	assert_non_null(got);
	assert_int_equal(size, n);
	assert_memory_equal(got, record, n);
	ring_pass(&ring);
	ring_tell(&ring);
}

static void assert_empty(void)
{
	size_t size;
	assert_null(ring_front(&ring, &size));
	assert_int_equal(ring_unread(&ring), 0);
}

/* At each place of the ring, also over its end; and nothing of it is left for a later one. */
static void records_of_all_sizes(void **state)
{
	static unsigned char record[ALYS_RECORD_MAX];
	(void)state;
	memset(record, 0xff, sizeof(record));
	for (size_t n = 1; n <= LONGEST; n++) {
		assert_empty();
		assert_true(put(record, n));
		assert_int_equal(ring_unread(&ring), ALYS_RING_ENTRY(n));
		take_one(record, n);
	}
	assert_true(ring.read > 10 * SIZE);
	const unsigned char *bytes = host_ring.at->bytes;
	for (size_t i = 0; i < ALYS_RING_SZ(SIZE) - sizeof(struct alys_ring); i++)
		assert_int_equal(bytes[i], 0);
}

static void a_full_one_takes_no_more(void **state)
{
	uint64_t n = 0, first = 0;
	(void)state;
	while (put(&n, sizeof(n)))
		n++;
	assert_int_equal(n, SIZE / ALYS_RING_ENTRY(sizeof(n)));
	take_one(&first, sizeof(first));
	assert_true(put(&n, sizeof(n)));
	assert_false(put(&n, sizeof(n)));
	for (first = 1; first <= n; first++)
		take_one(&first, sizeof(first));
	assert_empty();
}

/* Its writer is still at it: those behind it wait. */
static void an_unwritten_one_holds_others_back(void **state)
{
	uint64_t *one = ring_reserve(sizeof(*one)), two = 2;
	size_t size;
	(void)state;
	assert_true(put(&two, sizeof(two)));
	assert_null(ring_front(&ring, &size));
	assert_true(ring_unread(&ring) > 0);
	*one = 1;
	ring_submit(one, sizeof(*one), true);
	assert_int_equal(host_ring.calls, 1);
	take_one(&(uint64_t){ 1 }, sizeof(uint64_t));
	take_one(&two, sizeof(two));
	assert_empty();
}

/* Whoever had the ring in his memory may have written to it. */
static void sizes_are_not_believed(void **state)
{
	uint32_t *e = ring_reserve(8);
	size_t size;
	(void)state;
	ring_submit(e, ~0u, false);
	assert_non_null(ring_front(&ring, &size));
	assert_int_equal(size, LONGEST);
	ring_pass(&ring);
	assert_int_equal(ring.read, ALYS_RING_ENTRY(LONGEST));
}

/* A reader that ended in the middle has cleared what it did not give back. */
static void the_next_reader_starts_anew(void **state)
{
	uint64_t n;
	size_t size;
	(void)state;
	for (n = 0; n < 100; n++)
		assert_true(put(&n, sizeof(n)));
	for (n = 0; n < 50; n++) {
		assert_non_null(ring_front(&ring, &size));
		ring_pass(&ring);
	}
	ring_close(&ring);
	assert_int_equal(ring_open(&ring, host_ring.fd, SIZE), 0);
	assert_null(ring_front(&ring, &size));
	ring_reset(&ring);
	assert_empty();
	for (n = 0; n < 10 * SIZE; n++) {
		assert_true(put(&n, sizeof(n)));
		take_one(&n, sizeof(n));
	}
}

static size_t length_of(uint32_t n)
{
	return 16 + n % 5 * 24 + (n % 97 ? 0 : LONGEST - 200);
}

/* Each record says who wrote it, and which of his it is. */
static void *write_many(void *arg)
{
	unsigned char record[ALYS_RECORD_MAX];
	uint32_t who = (uint32_t)(uintptr_t)arg;
	for (uint32_t n = 0; n < EACH; n++) {
		memset(record, (int)(n + who), sizeof(record));
		memcpy(record, (uint32_t[]){ who, n }, 8);
		while (!put(record, length_of(n)))
			sched_yield();
	}
	return NULL;
}

static void check(const unsigned char *record, size_t size, uint32_t *next)
{
	uint32_t is[2];
	memcpy(is, record, sizeof(is));
	assert_true(is[0] < WRITERS);
	assert_int_equal(is[1], next[is[0]]++);
	assert_int_equal(size, length_of(is[1]));
	for (size_t i = sizeof(is); i < size; i++) {
		if (record[i] != (unsigned char)(is[0] + is[1]))
			fail();
	}
}

static void many_write_at_once(void **state)
{
	uint32_t next[WRITERS] = { 0 };
	pthread_t writers[WRITERS];
	(void)state;
	for (uintptr_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_many, (void *)i), 0);
	for (uint32_t got = 0; got < WRITERS * EACH;) {
		size_t size;
		const void *record = ring_front(&ring, &size);
		if (!record) {
			sched_yield();
			continue;
		}
		check(record, size, next);
		ring_pass(&ring);
		if (++got % 16 == 0)
			ring_tell(&ring);
	}
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	assert_empty();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_of_all_sizes, begin, end),
		cmocka_unit_test_setup_teardown(a_full_one_takes_no_more, begin, end),
		cmocka_unit_test_setup_teardown(an_unwritten_one_holds_others_back, begin, end),
		cmocka_unit_test_setup_teardown(sizes_are_not_believed, begin, end),
		cmocka_unit_test_setup_teardown(the_next_reader_starts_anew, begin, end),
		cmocka_unit_test_setup_teardown(many_write_at_once, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
