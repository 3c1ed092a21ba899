/* SPDX-License-Identifier: Apache-2.0 */
/* model: the rules of the live heap, one scenario each, and a random run against a simple oracle. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

static int setup(void **state)
{
	*state = heap_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	heap_free(*state);
	return 0;
}

static struct applied apply(struct heap *h, struct event e)
{
	struct applied a;
	if (!e.proc.n)
		e.proc.n = 1;
	assert_int_equal(heap_apply(h, &e, &a), 0);
	return a;
}

#define APPLY(...) apply(h, (struct event){ __VA_ARGS__ })
#define ALLOC(t, a, sz, st) APPLY(.kind = EVENT_ALLOC, .time_ns = t, .addr = a, .size = sz, .stack = { st })
#define FREE(t, a) APPLY(.kind = EVENT_FREE, .time_ns = t, .addr = a)
#define REALLOC(t, enter, old, a, sz, st) \
	APPLY(.kind = EVENT_REALLOC, .time_ns = t, .enter_ns = enter, .old_addr = old, .addr = a, .size = sz, .stack = { st })

static struct snapshot look(struct heap *h)
{
	struct snapshot *s = heap_snapshot(h), copy = *s;
	snapshot_free(s);
	copy.rows = NULL;
	return copy;
}

static void assert_live(struct heap *h, uint64_t cnt, uint64_t sz)
{
	struct snapshot s = look(h);
	assert_int_equal(s.all.live_cnt, cnt);
	assert_int_equal(s.all.live_sz, sz);
	if (!s.facts.sampled) {
		assert_true(s.all.est_live_cnt == (double)cnt);
		assert_true(s.all.est_live_sz == (double)sz);
	}
}

static void test_alloc_and_free(void **state)
{
	struct heap *h = *state;
	assert_int_equal(ALLOC(1, 0x10, 64, 3).id, 1);
	assert_int_equal(ALLOC(2, 0x20, 32, 3).id, 2);
	struct applied a = FREE(3, 0x10);
	assert_int_equal(a.id, 1);
	assert_int_equal(a.prev_addr, 0x10);
	assert_int_equal(a.prev_size, 64);
	assert_live(h, 1, 32);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->rows[0].t.alloc_cnt, 2);
	assert_int_equal(s->rows[0].t.alloc_sz, 96);
	assert_int_equal(s->rows[0].t.live_sz, 32);
	assert_int_equal(s->facts.first_ns, 1);
	assert_int_equal(s->facts.last_ns, 3);
	assert_int_equal(s->facts.events, 3);
	snapshot_free(s);
}

static void test_unknown_and_double_free(void **state)
{
	struct heap *h = *state;
	assert_int_equal(FREE(1, 0x10).id, 0);
	ALLOC(2, 0x10, 8, 1);
	FREE(3, 0x10);
	assert_int_equal(FREE(4, 0x10).prev_addr, 0);
	assert_int_equal(look(h).facts.unknown_free, 2);
	assert_live(h, 0, 0);
}

#define FORK(t, p, c) APPLY(.kind = EVENT_FORK, .time_ns = t, .proc = { c }, .old_addr = p)
#define FREE_IN(p, t, a) APPLY(.kind = EVENT_FREE, .proc = { p }, .time_ns = t, .addr = a)

static void assert_frees(struct heap *h, uint64_t inherited, uint64_t unknown)
{
	assert_int_equal(look(h).facts.inherited_free, inherited);
	assert_int_equal(look(h).facts.unknown_free, unknown);
}

static void test_child_frees_what_its_parent_had(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 8, 1);
	ALLOC(2, 0x20, 8, 1);
	FREE(3, 0x20);
	FORK(4, 1, 2);
	ALLOC(5, 0x30, 8, 1);
	FREE(6, 0x10); /* the child has it still */
	FREE_IN(2, 7, 0x10);
	assert_frees(h, 1, 0);
	FREE_IN(2, 8, 0x10);  /* twice */
	FREE_IN(2, 9, 0x20);  /* gone before the fork */
	FREE_IN(2, 10, 0x30); /* not there yet */
	assert_frees(h, 1, 3);
	assert_live(h, 1, 8);
}

static void test_child_outlives_its_parent(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 8, 1);
	ALLOC(2, 0x20, 8, 1);
	FORK(3, 1, 2);
	FORK(4, 2, 3);
	APPLY(.kind = EVENT_EXIT, .proc = { 1 }, .time_ns = 5);
	FREE_IN(2, 6, 0x10);
	FREE_IN(3, 7, 0x10); /* a grandchild has its own copy */
	assert_frees(h, 2, 0);
	FORK(8, 2, 4);
	FREE_IN(4, 9, 0x10); /* its parent had freed it by then */
	FREE_IN(4, 10, 0x20);
	assert_frees(h, 3, 1);
	APPLY(.kind = EVENT_REALLOC, .proc = { 3 }, .time_ns = 12, .enter_ns = 11, .old_addr = 0x20, .addr = 0x40, .size = 9);
	assert_frees(h, 4, 1);
}

static void test_daemon_has_what_its_first_parent_had(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 8, 1);
	ALLOC(2, 0x20, 8, 1);
	ALLOC(2, 0x30, 8, 1);
	FORK(3, 1, 2);
	FREE_IN(2, 4, 0x30);
	FORK(5, 2, 3);
	APPLY(.kind = EVENT_EXIT, .proc = { 2 }, .time_ns = 6);
	FREE_IN(3, 7, 0x10);
	FREE(8, 0x20); /* the daemon has it still */
	APPLY(.kind = EVENT_EXIT, .proc = { 1 }, .time_ns = 9);
	FREE_IN(3, 10, 0x20);
	assert_frees(h, 3, 0);
	FREE_IN(3, 11, 0x30); /* its parent had freed it by then */
	assert_frees(h, 3, 1);
	APPLY(.kind = EVENT_EXIT, .proc = { 3 }, .time_ns = 12);
	FREE_IN(3, 13, 0x10);
	assert_frees(h, 3, 2);
}

static void test_child_that_executes_has_nothing_of_its_parent(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 8, 1);
	FORK(2, 1, 2);
	APPLY(.kind = EVENT_EXEC, .proc = { 2 }, .time_ns = 3);
	FREE_IN(2, 4, 0x10);
	FREE_IN(3, 4, 0x10);
	assert_frees(h, 0, 2);
	FORK(5, 77, 5); /* of an unknown process */
	FORK(5, 1, 1);
	FREE_IN(5, 6, 0x10);
	assert_frees(h, 0, 3);
}

static void test_same_address_in_two_processes(void **state)
{
	struct heap *h = *state;
	APPLY(.kind = EVENT_ALLOC, .proc = { 1 }, .addr = 0x10, .size = 5, .time_ns = 1);
	APPLY(.kind = EVENT_ALLOC, .proc = { 2 }, .addr = 0x10, .size = 7, .time_ns = 2);
	struct applied a = APPLY(.kind = EVENT_FREE, .proc = { 1 }, .addr = 0x10, .time_ns = 3);
	assert_int_equal(a.prev_size, 5);
	assert_live(h, 1, 7);
	assert_int_equal(look(h).n, 2); /* stack 0 of each */
}

static void test_replaced(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 100, 1);
	assert_int_equal(ALLOC(2, 0x10, 40, 2).id, 2);
	assert_live(h, 1, 40);
	assert_int_equal(look(h).facts.replaced, 1);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->rows[0].t.live_cnt, 0);
	assert_int_equal(s->rows[1].t.live_cnt, 1);
	snapshot_free(s);
	assert_int_equal(FREE(3, 0x10).id, 2);
}

static void test_stale_free(void **state)
{
	struct heap *h = *state;
	ALLOC(10, 0x10, 100, 1);
	assert_int_equal(FREE(9, 0x10).id, 0);
	assert_live(h, 1, 100);
	assert_int_equal(look(h).facts.stale_free, 1);
	FREE(10, 0x10);
	assert_live(h, 0, 0);
}

static void test_realloc_moves_and_keeps_id(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 100, 1);
	struct applied a = REALLOC(5, 4, 0x10, 0x80, 300, 2);
	assert_int_equal(a.id, 1);
	assert_int_equal(a.prev_addr, 0x10);
	assert_int_equal(a.prev_size, 100);
	assert_live(h, 1, 300);
	assert_int_equal(REALLOC(7, 6, 0x80, 0x80, 50, 2).id, 1); /* in place */
	assert_live(h, 1, 50);
	assert_int_equal(FREE(8, 0x80).id, 1);
	assert_int_equal(look(h).facts.replaced, 0);
	assert_int_equal(look(h).all.alloc_cnt, 3);
	assert_int_equal(look(h).all.alloc_sz, 450);
}

static void test_realloc_of_nothing_and_to_nothing(void **state)
{
	struct heap *h = *state;
	assert_int_equal(REALLOC(2, 1, 0, 0x10, 30, 1).id, 1);
	assert_int_equal(look(h).facts.unknown_free, 0);
	struct applied a = REALLOC(4, 3, 0x10, 0, 0, 1);
	assert_int_equal(a.id, 1);
	assert_int_equal(a.prev_size, 30);
	assert_live(h, 0, 0);
	assert_int_equal(look(h).all.alloc_cnt, 1);
	assert_int_equal(REALLOC(6, 5, 0x77, 0x90, 9, 1).id, 2); /* old one never seen */
	assert_int_equal(look(h).facts.unknown_free, 1);
	assert_live(h, 1, 9);
}

/* Inside realloc the old address is free: another thread may get it and report first. */
static void test_realloc_race(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 100, 1);
	ALLOC(6, 0x10, 7, 2); /* by another thread, within the realloc of 5..8 */
	REALLOC(8, 5, 0x10, 0x80, 300, 1);
	assert_live(h, 2, 307);
	struct snapshot s = look(h);
	assert_int_equal(s.facts.replaced, 1);
	assert_int_equal(s.facts.stale_free, 1);
	assert_int_equal(FREE(9, 0x10).prev_size, 7);
	assert_int_equal(FREE(9, 0x80).prev_size, 300);
	assert_live(h, 0, 0);
}

static void test_exec_and_exit(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 100, 1);
	ALLOC(1, 0x20, 10, 1);
	APPLY(.kind = EVENT_EXEC, .time_ns = 2);
	assert_live(h, 0, 0);
	assert_int_equal(look(h).facts.ended_live, 2);
	APPLY(.kind = EVENT_ALLOC, .proc = { 2 }, .time_ns = 3, .addr = 0x10, .size = 3);
	APPLY(.kind = EVENT_EXIT, .proc = { 2 }, .time_ns = 4);
	APPLY(.kind = EVENT_EXIT, .proc = { 2 }, .time_ns = 4);
	APPLY(.kind = EVENT_EXIT, .proc = { 99 }, .time_ns = 5);
	assert_live(h, 1, 3);
	assert_int_equal(look(h).facts.ended_live, 3);
	ALLOC(6, 0x10, 1, 1); /* entries of freed blocks are reused */
	assert_live(h, 2, 4);
}

static void test_loss(void **state)
{
	struct heap *h = *state;
	APPLY(.kind = EVENT_LOSS, .lost_kind = EVENT_FREE, .size = 3);
	APPLY(.kind = EVENT_LOSS, .lost_kind = EVENT_ALLOC, .size = 5);
	APPLY(.kind = EVENT_LOSS, .lost_kind = EVENT_REALLOC, .size = 100);
	struct snapshot s = look(h);
	assert_int_equal(s.facts.lost_frees, 103);
	assert_int_equal(s.facts.lost_allocs, 105);
	assert_int_equal(s.facts.events, 0);
}

static void test_sampled(void **state)
{
	struct heap *h = *state;
	double w = sample_weight(100, 1000);
	assert_true(fabs(w - 1 / (1 - exp(-0.1))) < 1e-9);
	assert_true(sample_weight(1ull << 40, 1000) == 1);
	assert_true(sample_weight(5, 0) == 1);
	assert_true(isfinite(sample_weight(0, UINT64_MAX)));
	struct event refill = { .size = 32, .interval = 65536, .batch = 128, .span = 4096 };
	assert_true(event_weight(&refill) == 128 * sample_weight(4096, 65536));
	refill.batch = refill.span = 0;
	assert_true(event_weight(&refill) == sample_weight(32, 65536));
	struct applied a = APPLY(.kind = EVENT_ALLOC, .time_ns = 1, .addr = 0x10, .size = 100, .interval = 1000);
	assert_true(a.weight == w);
	struct snapshot s = look(h);
	assert_true(s.facts.sampled);
	assert_true(s.all.est_live_sz == w * 100);
	assert_int_equal(s.all.live_sz, 100);
	a = FREE(2, 0x10);
	assert_true(a.weight == w);
	assert_true(look(h).all.est_live_cnt == 0);
	assert_true(look(h).all.est_alloc_cnt == w);
	APPLY(.kind = EVENT_REALLOC, .time_ns = 4, .old_addr = 0x30, .addr = 0x40, .interval = 1000);
	assert_int_equal(look(h).facts.unknown_free, 0);
}

static void test_rows_are_sorted(void **state)
{
	struct heap *h = *state;
	for (uint64_t i = 0; i < 1000; i++)
		APPLY(.kind = EVENT_ALLOC, .proc = { 1 + (uint32_t)(i % 3) }, .addr = 8 + i,
		      .stack = { (uint32_t)(i * 7919 % 101) }, .size = 1);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 303);
	for (size_t i = 1; i < s->n; i++) {
		const struct snapshot_row *a = &s->rows[i - 1], *b = &s->rows[i];
		assert_true(a->stack.n < b->stack.n || (a->stack.n == b->stack.n && a->proc.n < b->proc.n));
	}
	snapshot_free(s);
}

static void test_strange_events(void **state)
{
	struct heap *h = *state;
	APPLY(.kind = 200, .addr = 1, .size = 1);
	APPLY(.kind = EVENT_ALLOC, .addr = 0, .size = 1);
	APPLY(.kind = EVENT_RATE, .interval = 5);
	ALLOC(1, UINT64_MAX, UINT64_MAX, UINT32_MAX);
	ALLOC(2, UINT64_MAX - 1, UINT64_MAX, UINT32_MAX);
	FREE(3, UINT64_MAX);
	FREE(4, UINT64_MAX - 1);
	assert_live(h, 0, 0);
}

/* Events in plain order against an array indexed by address. */
static void test_against_oracle(void **state)
{
	struct heap *h = *state;
	static uint64_t size_at[512];
	uint64_t cnt = 0, sz = 0, t = 1;
	memset(size_at, 0, sizeof(size_at));
	srandom(7);
	for (int i = 0; i < 200000; i++, t++) {
		uint64_t a = (uint64_t)random() % 511 + 1, n = (uint64_t)random() % 1000 + 1;
		uint64_t old = (uint64_t)random() % 511 + 1;
		switch (random() % 3) {
		case 0: ALLOC(t, a, n, (uint32_t)(a % 10)); break;
		case 1:
			FREE(t, a);
			n = 0;
			break;
		default:
			REALLOC(t, t, old, a, n, 11);
			cnt -= size_at[old] != 0;
			sz -= size_at[old];
			size_at[old] = 0;
		}
		cnt += (n != 0) - (size_at[a] != 0);
		sz += n - size_at[a];
		size_at[a] = n;
	}
	assert_live(h, cnt, sz);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void test_idle_rows_become_one(void **state)
{
	struct heap *h = *state;
	for (uint64_t st = 1; st <= 4; st++)
		ALLOC(st, st * 16, 10 * st, (uint32_t)st);
	ALLOC(5, 0x500, 7, 1);
	for (uint64_t st = 1; st <= 3; st++)
		FREE(10, st * 16);
	assert_int_equal(heap_forget_idle(h), 0);
	/* Now 1 is live, 2 is idle, 3 was allocated and freed again, 4 is live. */
	ALLOC(11, 0x30, 1000, 3);
	FREE(12, 0x30);
	assert_int_equal(heap_forget_idle(h), 1);
	assert_false(heap_knows(h, (struct proc_id){ 1 }, (struct stack_id){ 2 }));
	assert_true(heap_knows(h, (struct proc_id){ 1 }, (struct stack_id){ 3 }));
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->rows[0].stack.n, 0);
	assert_int_equal(s->rows[0].t.alloc_sz, 20);
	assert_int_equal(s->rows[2].stack.n, 3);
	assert_int_equal(s->rows[2].t.alloc_sz, 1030);
	assert_int_equal(s->all.alloc_sz, 107 + 1000);
	snapshot_free(s);
	assert_int_equal(heap_forget_idle(h), 1);
	/* Blocks have found their rows. */
	FREE(13, 0x40);
	FREE(14, 0x500);
	assert_live(h, 0, 0);
	ALLOC(15, 0x20, 1, 2);
	s = heap_snapshot(h);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->rows[0].t.alloc_sz, 20 + 1030);
	for (size_t i = 0; i < s->n; i++)
		assert_int_equal(s->rows[i].t.live_sz, s->rows[i].stack.n == 2);
	snapshot_free(s);
}

static void test_carried_over(void **state)
{
	struct heap *h = *state;
	APPLY(.kind = EVENT_ALLOC, .flags = EVENT_F_CARRIED, .time_ns = 100, .enter_ns = 7, .addr = 0x10, .size = 64,
	      .stack = { 3 });
	APPLY(.kind = EVENT_ALLOC, .flags = EVENT_F_CARRIED, .time_ns = 100, .enter_ns = 9, .addr = 0x20, .size = 1,
	      .stack = { 3 }, .interval = 10);
	assert_live(h, 2, 65);
	struct snapshot s = look(h);
	assert_int_equal(s.all.alloc_cnt, 0);
	assert_int_equal(s.all.alloc_sz, 0);
	assert_true(s.all.est_alloc_sz == 0 && s.all.var[ALLOC_SZ] == 0);
	assert_true(s.all.est_live_sz > 74 && s.all.est_live_sz < 75 && s.all.var[LIVE_SZ] > 90);
	assert_int_equal(s.facts.carried, 2);
	assert_int_equal(s.facts.events, 0);
	/* Its age counts from its allocation. */
	REALLOC(110, 8, 0x20, 0x30, 5, 4);
	assert_int_equal(look(h).facts.stale_free, 1);
	FREE(120, 0x10);
	FREE(121, 0x20);
	assert_live(h, 1, 5);
	s = look(h);
	assert_int_equal(s.all.alloc_sz, 5);
	assert_int_equal(s.facts.events, 3);
	assert_int_equal(s.facts.unknown_free, 0);
}

/* Share of intervals that hold the mean of a Poisson process, given that it has a count at all. */
static double held(double mean)
{
	double p = exp(-mean), met = 0, held = 0;
	for (int n = 1; n < mean + 20 * sqrt(mean) + 20; n++) {
		const struct spread samples = { .sum = n, .var = n };
		p *= mean / n;
		met += p;
		held += fabs(n - mean) <= 1.96 * sqrt(spread_var(&samples)) ? p : 0;
	}
	return held / met;
}

static void test_intervals_of_few_samples(void **state)
{
	(void)state;
	for (double mean = 0.1; mean < 100; mean += 0.1)
		assert_true(held(mean) > 0.93);
	/* One that had to be sampled is certain, and many that are certain leave little to few others. */
	assert_true(spread_var(&(struct spread){ .sum = 1 }) == 0);
	assert_true(spread_var(&(struct spread){ .sum = 1000, .var = 1 }) < 1.001);
	/* Parts are added before: of two rows with a sample each the sum has two. */
	struct spread sum = { .sum = 1, .var = 1 };
	assert_true(spread_var(&sum) == 3 && spread_added(&sum) == 1);
	spread_add(&sum, &(struct spread){ .sum = 1, .var = 1 });
	assert_true(spread_var(&sum) == 4 && spread_added(&sum) == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_alloc_and_free),
		T(test_carried_over),
		T(test_idle_rows_become_one),
		T(test_unknown_and_double_free),
		T(test_child_frees_what_its_parent_had),
		T(test_child_outlives_its_parent),
		T(test_daemon_has_what_its_first_parent_had),
		T(test_child_that_executes_has_nothing_of_its_parent),
		T(test_same_address_in_two_processes),
		T(test_replaced),
		T(test_stale_free),
		T(test_realloc_moves_and_keeps_id),
		T(test_realloc_of_nothing_and_to_nothing),
		T(test_realloc_race),
		T(test_exec_and_exit),
		T(test_loss),
		T(test_sampled),
		T(test_intervals_of_few_samples),
		T(test_rows_are_sorted),
		T(test_strange_events),
		T(test_against_oracle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
