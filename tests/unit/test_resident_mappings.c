/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are mapped, cut, moved and inherited, and what the kernel says of this process at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/map.h"
#include "resident/mappings.h"

#define PAGE 4096ull
#define GIB (1ull << 30)
#define PROC ((struct proc_id){ 1 })
#define CHILD ((struct proc_id){ 2 })

/* A heap: bytes by address and process, and how many events it had. */
struct blocks {
	struct map at;
	uint64_t bytes;
	int allocs, frees;
};

static uint64_t key(const struct event *e)
{
	return e->addr | e->proc.n;
}

static void take(void *ctx, const struct event *e)
{
	struct blocks *b = ctx;
	uint64_t *there = map_get(&b->at, key(e));
	if (e->kind == EVENT_FREE) {
		assert_non_null(there);
		b->bytes -= *there;
		b->frees++;
		map_del(&b->at, key(e));
		return;
	}
	assert_null(there);
	*(uint64_t *)map_put(&b->at, key(e)) = e->size;
	b->bytes += e->size;
	b->allocs++;
}

static void come(struct mappings *m, uint64_t addr, uint64_t size, uint64_t time_ns)
{
	const struct event e = { .kind = EVENT_ALLOC, .proc = PROC, .addr = addr, .size = size, .time_ns = time_ns };
	assert_int_equal(mappings_come(m, &e), 0);
	take(m->ctx, &e);
}

static void gone(struct mappings *m, uint64_t start, uint64_t end, uint64_t enter_ns, uint64_t time_ns)
{
	const struct resident_range r = { .proc = PROC, .start = start, .end = end, .enter_ns = enter_ns, .time_ns = time_ns };
	assert_int_equal(mappings_gone(m, &r), 0);
}

static void end(struct mappings *m, struct blocks *b)
{
	mappings_free(m);
	map_free(&b->at);
}

static void test_parts(void **state)
{
	struct blocks b = { 0 };
	struct mappings m = { .ctx = &b, .event = take };
	(void)state;
	come(&m, 64 * GIB, 16 * GIB, 10);
	gone(&m, 66 * GIB, 72 * GIB, 11, 12);
	assert_int_equal(b.bytes, 10 * GIB);
	assert_int_equal(b.at.count, 2);
	/* Over the hole's edges. */
	come(&m, 65 * GIB, 8 * GIB, 13);
	assert_int_equal(b.bytes, 16 * GIB);
	assert_int_equal(*map_get(&b.at, (64 * GIB) | 1), GIB);
	assert_int_equal(*map_get(&b.at, (73 * GIB) | 1), 7 * GIB);
	gone(&m, 0, UINT64_MAX, 14, 15);
	assert_int_equal(b.bytes, 0);
	end(&m, &b);
}

/* The record of a munmap comes when it is over; another thread may have mapped there again. */
static void test_late_record(void **state)
{
	struct blocks b = { 0 };
	struct mappings m = { .ctx = &b, .event = take };
	(void)state;
	come(&m, 10 * PAGE, 10 * PAGE, 10);
	come(&m, 12 * PAGE, 2 * PAGE, 25);
	gone(&m, 10 * PAGE, 20 * PAGE, 20, 30);
	assert_int_equal(b.bytes, 2 * PAGE);
	gone(&m, 10 * PAGE, 20 * PAGE, 31, 32);
	assert_int_equal(b.bytes, 0);
	end(&m, &b);
}

static void test_moved(void **state)
{
	struct blocks b = { 0 };
	struct mappings m = { .ctx = &b, .event = take };
	struct resident_range from = { .proc = PROC, .start = 2 * PAGE, .end = 8 * PAGE, .enter_ns = 20, .time_ns = 21 };
	(void)state;
	come(&m, PAGE, 3 * PAGE, 10);
	come(&m, 4 * PAGE, 6 * PAGE, 11);
	come(&m, 100 * PAGE, 4 * PAGE, 12);
	assert_int_equal(mappings_moved(&m, &from, 100 * PAGE), 0);
	assert_int_equal(b.bytes, 9 * PAGE);
	assert_int_equal(*map_get(&b.at, PAGE | 1), PAGE);
	assert_int_equal(*map_get(&b.at, (8 * PAGE) | 1), 2 * PAGE);
	assert_int_equal(*map_get(&b.at, (100 * PAGE) | 1), 2 * PAGE);
	assert_int_equal(*map_get(&b.at, (102 * PAGE) | 1), 4 * PAGE);
	/* Nothing is known there: what lies at the new place stays. */
	assert_int_equal(mappings_moved(&m, &from, 100 * PAGE), 0);
	assert_int_equal(b.bytes, 9 * PAGE);
	end(&m, &b);
}

static void test_child(void **state)
{
	struct blocks b = { 0 };
	struct mappings m = { .ctx = &b, .event = take };
	const struct resident_range of_child = { .proc = CHILD, .start = 0, .end = 20 * PAGE, .enter_ns = 20 };
	(void)state;
	come(&m, 10 * PAGE, 20 * PAGE, 10);
	assert_int_equal(mappings_fork(&m, PROC, CHILD), 0);
	*(uint64_t *)map_put(&b.at, (10 * PAGE) | 2) = 20 * PAGE; /* a heap copies it by itself */
	assert_int_equal(mappings_gone(&m, &of_child), 0);
	assert_int_equal(*map_get(&b.at, (10 * PAGE) | 1), 20 * PAGE);
	assert_int_equal(*map_get(&b.at, (20 * PAGE) | 2), 10 * PAGE);
	mappings_forget(&m, CHILD);
	gone(&m, 0, UINT64_MAX, 30, 31);
	assert_null(map_get(&b.at, (10 * PAGE) | 1));
	end(&m, &b);
}

static void test_settled(void **state)
{
	struct blocks b = { 0 };
	struct mappings m = { .ctx = &b, .event = take };
	size_t size = 64 * PAGE;
	(void)state;
	assert_int_equal(mappings_begin(&m, PROC, (uint32_t)getpid()), 0);
	char *heard = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *unheard = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(heard != MAP_FAILED && unheard != MAP_FAILED);
	come(&m, (uint64_t)heard, size, 10);
	munmap(heard + size / 2, size / 2);
	assert_int_equal(mappings_settle(&m, PROC, (uint32_t)getpid(), 20), 0);
	assert_int_equal(m.swept, size / 2);
	assert_int_equal(b.bytes, size / 2);
	assert_true(m.unheard >= 1 << 20 && m.older > 0);
	assert_int_equal(m.total, m.older + m.unheard + b.bytes);
	munmap(heard, size / 2);
	munmap(unheard, 1 << 20);
	end(&m, &b);
}

/* Its list is empty: that is no reason to take everything away. */
static void test_ended(void **state)
{
	struct blocks b = { 0 };
	struct mappings m = { .ctx = &b, .event = take };
	(void)state;
	come(&m, PAGE, PAGE, 10);
	assert_int_equal(mappings_settle(&m, PROC, 0x7fffffff, 20), 0);
	assert_int_equal(b.bytes, PAGE);
	assert_int_equal(m.total, 0);
	end(&m, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts), cmocka_unit_test(test_late_record), cmocka_unit_test(test_moved),
		cmocka_unit_test(test_child), cmocka_unit_test(test_settled),     cmocka_unit_test(test_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
