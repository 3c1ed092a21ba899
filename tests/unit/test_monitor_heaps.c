/* SPDX-License-Identifier: Apache-2.0 */
/* monitor/heaps and monitor/limits: a heap for each process, thinned without bias; the ladder of limits. */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/heaps.h"
#include "monitor/limits.h"

#define SIZE 100

static void put(struct heaps *h, uint32_t proc, uint32_t stack, uint64_t addr, uint64_t interval)
{
	struct event e = { .kind = EVENT_ALLOC,
			   .proc = { proc },
			   .stack = { stack },
			   .addr = addr,
			   .size = SIZE,
			   .interval = interval,
			   .time_ns = addr };
	assert_int_equal(heaps_apply(h, &e), 0);
}

static void drop(struct heaps *h, uint32_t proc, uint64_t addr)
{
	struct event e = { .kind = EVENT_FREE, .proc = { proc }, .addr = addr, .time_ns = 1ull << 40 };
	assert_int_equal(heaps_apply(h, &e), 0);
}

static void processes_are_apart_and_together(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	for (uint64_t i = 1; i <= 10; i++) {
		put(&h, 1, 5, i, 0);
		put(&h, 2, 3, i, 0);
	}
	drop(&h, 1, 4);
	struct snapshot *one = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	struct snapshot *all = heaps_snapshot(&h, (struct proc_id){ 0 }, NULL, 0);
	assert_int_equal(one->n, 1);
	assert_int_equal(one->all.live_cnt, 9);
	assert_int_equal(all->n, 2);
	assert_int_equal(all->rows[0].stack.n, 3);
	assert_int_equal(all->all.live_cnt, 19);
	snapshot_free(one);
	snapshot_free(all);
	heaps_drop(&h, (struct proc_id){ 1 });
	assert_null(heaps_get(&h, (struct proc_id){ 1 }));
	assert_non_null(heaps_get(&h, (struct proc_id){ 2 }));
	assert_null(heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0));
	heaps_free(&h);
}

static void marks_count_from_there(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	put(&h, 1, 5, 1, 0);
	struct heap_mark *m = heaps_mark(&h, (struct proc_id){ 1 });
	assert_true(heap_mark_is_of(m, (struct proc_id){ 1 }) && !heap_mark_is_of(m, (struct proc_id){ 2 }));
	put(&h, 1, 5, 2, 0);
	put(&h, 1, 6, 3, 0);
	struct snapshot *s = heaps_snapshot(&h, (struct proc_id){ 1 }, m, 0);
	assert_int_equal(s->all.alloc_cnt, 2);
	assert_int_equal(s->all.live_cnt, 3);
	assert_int_equal(s->rows[0].t.alloc_cnt, 1);
	snapshot_free(s);
	heap_mark_free(m);
	heaps_free(&h);
}

static void marks_know_what_was_forgotten(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	put(&h, 1, 5, 1, 0);
	put(&h, 1, 6, 2, 0);
	drop(&h, 1, 1);
	heaps_forget_idle(&h);
	struct heap_mark *m = heaps_mark(&h, (struct proc_id){ 1 });
	assert_int_equal(heaps_forget_idle(&h), 1);
	assert_false(heaps_know(&h, (struct proc_id){ 1 }, (struct stack_id){ 5 }));
	put(&h, 1, 6, 3, 0);
	struct snapshot *s = heaps_snapshot(&h, (struct proc_id){ 1 }, m, 0);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->rows[0].stack.n, 0);
	assert_int_equal(s->rows[0].t.alloc_cnt, 0);
	assert_int_equal(s->rows[1].t.alloc_cnt, 1);
	assert_int_equal(s->all.alloc_cnt, 1);
	snapshot_free(s);
	put(&h, 1, 5, 4, 0); /* seen again: a new row */
	put(&h, 1, 5, 5, 0);
	s = heaps_snapshot(&h, (struct proc_id){ 1 }, m, 0);
	assert_int_equal(s->rows[0].t.alloc_cnt, 0);
	assert_int_equal(s->rows[1].stack.n, 5);
	assert_int_equal(s->rows[1].t.alloc_cnt, 2);
	snapshot_free(s);
	heap_mark_free(m);
	heaps_free(&h);
}

static void rows_beyond_the_limit_become_one(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		for (uint32_t k = 0; k < i; k++)
			put(&h, 1, i, i * 100 + k, 0);
	}
	struct snapshot *s = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 5);
	uint64_t sum = 0;
	assert_int_equal(s->n, 5);
	assert_int_equal(s->rows[0].stack.n, 0);
	for (size_t i = 0; i < s->n; i++)
		sum += s->rows[i].t.live_cnt;
	assert_int_equal(sum, 210);
	assert_int_equal(s->rows[4].stack.n, 20);
	snapshot_free(s);
	heaps_free(&h);
}

/* `n` windows of 1000 bytes each; each of the stacks is met in every second one of them. */
static void put_windows(struct heaps *h, uint32_t proc, uint32_t stacks, uint32_t n, uint64_t addr)
{
	for (uint32_t i = 0; i < n; i++) {
		struct event e = { .kind = EVENT_WINDOW, .proc = { proc }, .size = 1000, .batch = i % SPREAD_GROUPS + 1 };
		assert_int_equal(heaps_apply(h, &e), 0);
		for (uint32_t k = 1; k <= stacks; k++) {
			struct event a = { .kind = EVENT_ALLOC,
					   .flags = EVENT_F_WINDOW,
					   .proc = { proc },
					   .stack = { k },
					   .addr = addr + i * 100 + k,
					   .size = SIZE,
					   .interval = 1000,
					   .time_ns = addr };
			if (i % 2)
				assert_int_equal(heaps_apply(h, &a), 0);
		}
	}
}

static double error_of_all(const struct snapshot *s)
{
	return sqrt(snapshot_var(s, s->n, ALLOC_SZ));
}

/* Without windows a row has no clusters; with them, errors are those between windows. */
static void errors_between_windows_are_kept_apart(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	assert_int_equal(sizeof(struct snapshot_row), 128);
	put(&h, 1, 9, 1, 1000);
	struct snapshot *plain = heaps_snapshot(&h, (struct proc_id){ 0 }, NULL, 0);
	assert_null(plain->clusters);
	snapshot_free(plain);
	put_windows(&h, 1, 3, 32, 1000);
	put_windows(&h, 2, 2, 32, 1000);
	struct snapshot *one = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	struct snapshot *two = heaps_snapshot(&h, (struct proc_id){ 2 }, NULL, 0);
	struct snapshot *all = heaps_snapshot(&h, (struct proc_id){ 0 }, NULL, 0);
	struct snapshot *few = heaps_snapshot(&h, (struct proc_id){ 0 }, NULL, 2);
	/* As if they were independent it would be less: all stacks are met in the same windows. */
	assert_true(error_of_all(one) > 1.3 * sqrt(one->all.var[ALLOC_SZ]));
	/* The sum of rows that go together is off by more than each row alone; a row's own is that of its place. */
	assert_true(snapshot_var(one, 0, ALLOC_SZ) < snapshot_var(one, one->n, ALLOC_SZ));
	for (size_t i = 0; i < all->n; i++) {
		size_t k = 0;
		const struct snapshot *of = all->rows[i].proc.n == 1 ? one : two;
		while (of->rows[k].stack.n != all->rows[i].stack.n)
			k++;
		assert_true(fabs(snapshot_var(of, k, ALLOC_SZ) / snapshot_var(all, i, ALLOC_SZ) - 1) < 1e-6);
		assert_int_equal(!all->rows[i].windows, all->rows[i].stack.n == 9);
	}
	assert_true(fabs(error_of_all(all) / error_of_all(few) - 1) < 1e-6);
	assert_true(error_of_all(all) > error_of_all(one));
	double rest = 0;
	for (size_t i = 0; i < few->n; i++)
		rest += few->rows[i].windows ? 1 : 0;
	assert_true(rest >= 1);
	snapshot_free(one);
	snapshot_free(two);
	snapshot_free(all);
	snapshot_free(few);
	heaps_free(&h);
}

/* Since a mark, only samples since then have an error. */
static void errors_between_windows_count_from_marks(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	put_windows(&h, 1, 3, 320, 1000);
	struct heap_mark *m = heaps_mark(&h, (struct proc_id){ 1 });
	struct snapshot *none = heaps_snapshot(&h, (struct proc_id){ 1 }, m, 0);
	assert_true(error_of_all(none) < 1);
	put_windows(&h, 1, 3, 16, 1000000);
	struct snapshot *since = heaps_snapshot(&h, (struct proc_id){ 1 }, m, 0);
	struct snapshot *whole = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	assert_true(error_of_all(since) > 1000 && error_of_all(since) < error_of_all(whole) / 2);
	snapshot_free(none);
	snapshot_free(since);
	snapshot_free(whole);
	heap_mark_free(m);
	heaps_free(&h);
}

/* Windows stood for half of what the process had counted by the last of them: their samples stand for twice as much. */
static void windows_stand_for_what_was_counted(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	put(&h, 1, 9, 1, 1000);
	put_windows(&h, 1, 2, 32, 1000);
	struct heap_mark *m = heaps_mark(&h, (struct proc_id){ 1 });
	struct snapshot *by_time = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	struct event last = { .kind = EVENT_WINDOW, .proc = { 1 }, .batch = 1, .enter_ns = 2 * 32 * 1000 };
	assert_int_equal(heaps_apply(&h, &last), 0);
	struct snapshot *counted = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	struct snapshot *all = heaps_snapshot(&h, (struct proc_id){ 0 }, NULL, 2);
	for (size_t i = 0; i < counted->n; i++) {
		double factor = counted->rows[i].stack.n == 9 ? 1 : 2;
		assert_true(fabs(counted->rows[i].t.est_alloc_sz / by_time->rows[i].t.est_alloc_sz - factor) < 1e-6);
		assert_true(fabs(counted->rows[i].t.est_live_cnt / by_time->rows[i].t.est_live_cnt - factor) < 1e-6);
		assert_true(fabs(sqrt(snapshot_var(counted, i, ALLOC_SZ) / snapshot_var(by_time, i, ALLOC_SZ)) - factor) < 1e-3);
	}
	double always = sample_weight(SIZE, 1000) * SIZE, windows = by_time->all.est_alloc_sz - always;
	assert_true(fabs(counted->all.est_alloc_sz / (always + 2 * windows) - 1) < 1e-6);
	assert_true(fabs(all->all.est_alloc_sz / counted->all.est_alloc_sz - 1) < 1e-6);
	struct totals now = heap_estimate(heaps_get(&h, (struct proc_id){ 1 })->heap);
	assert_true(fabs(now.est_live_sz / counted->all.est_live_sz - 1) < 1e-6);
	/* Since the mark there is nothing, whatever windows stand for. */
	struct snapshot *since = heaps_snapshot(&h, (struct proc_id){ 1 }, m, 0);
	assert_true(fabs(since->all.est_alloc_sz) < 1e-6);
	snapshot_free(by_time);
	snapshot_free(counted);
	snapshot_free(all);
	snapshot_free(since);
	heap_mark_free(m);
	heaps_free(&h);
}

/* A forgotten stack's window samples are moved to its process. */
static void errors_between_windows_outlive_their_stacks(void **state)
{
	struct heaps h = { 0 };
	(void)state;
	put_windows(&h, 1, 3, 32, 1000);
	for (uint64_t i = 0; i < 32; i++)
		for (uint64_t k = 1; k <= 2; k++)
			drop(&h, 1, 1000 + i * 100 + k);
	struct snapshot *before = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	assert_int_equal(heaps_forget_idle(&h), 0);
	assert_int_equal(heaps_forget_idle(&h), 2);
	struct snapshot *after = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	assert_int_equal(after->n, 2);
	assert_int_equal(after->rows[0].stack.n, 0);
	assert_true(after->rows[0].windows && after->rows[1].windows);
	assert_true(fabs(error_of_all(before) / error_of_all(after) - 1) < 1e-5);
	assert_int_equal(after->clusters_cnt, 3);
	snapshot_free(before);
	snapshot_free(after);
	heaps_free(&h);
}

static void rows_beyond_the_limit_stay_with_their_process(void **state)
{
	struct heaps h = { 0 };
	uint64_t live[4] = { 0 };
	(void)state;
	for (uint32_t proc = 1; proc <= 3; proc++) {
		for (uint32_t i = 1; i <= 10; i++) {
			for (uint32_t k = 0; k < proc; k++)
				put(&h, proc, i, i * 100 + k, 0);
		}
	}
	struct snapshot *s = heaps_snapshot(&h, (struct proc_id){ 0 }, NULL, 5);
	assert_int_equal(s->n, 4 + 3);
	for (size_t i = 0; i < s->n; i++)
		live[s->rows[i].proc.n] += s->rows[i].t.live_cnt;
	for (uint32_t proc = 1; proc <= 3; proc++)
		assert_int_equal(live[proc], 10 * proc);
	snapshot_free(s);
	heaps_free(&h);
}

/* 20,000 blocks thinned four times: the estimate has a standard error of sqrt(15 * 20000) = 548 blocks. */
static void thinning_has_no_bias(void **state)
{
	struct heaps h = { .seed = 12345 };
	(void)state;
	for (uint64_t i = 1; i <= 20000; i++)
		put(&h, 1, 5, i, 0);
	for (int i = 0; i < 4; i++)
		heaps_thin(&h);
	struct snapshot *s = heaps_snapshot(&h, (struct proc_id){ 1 }, NULL, 0);
	assert_true(s->all.live_cnt > 1250 - 150 && s->all.live_cnt < 1250 + 150);
	assert_true(fabs(s->all.est_live_cnt - 20000) < 4 * 548);
	assert_true(fabs(s->all.est_live_sz - SIZE * s->all.est_live_cnt) < 1);
	assert_true(s->all.est_alloc_cnt > 19999 && s->all.est_alloc_cnt < 20001);
	assert_int_equal(s->facts.thinned, 20000 - s->all.live_cnt);
	snapshot_free(s);
	for (uint64_t i = 1; i <= 20000; i++)
		drop(&h, 1, i);
	assert_true(heap_totals(heaps_get(&h, (struct proc_id){ 1 })->heap)->est_live_sz == 0);
	heaps_free(&h);
}

static int add_weight(void *ctx, const struct event *e)
{
	*(double *)ctx += event_weight(e) * (double)e->size;
	return 0;
}

static int count_blocks(void *ctx, const struct event *e)
{
	assert_int_equal(e->size, SIZE);
	++*(size_t *)ctx;
	return 0;
}

static void live_blocks_come_back_as_events(void **state)
{
	struct heaps h = { .seed = 99 };
	double sum = 0;
	(void)state;
	for (uint64_t i = 1; i <= 1000; i++)
		put(&h, 1, 5, i, 4096);
	heaps_thin(&h);
	const struct heap *heap = heaps_get(&h, (struct proc_id){ 1 })->heap;
	assert_int_equal(heap_each_live(heap, add_weight, &sum), 0);
	assert_true(fabs(sum / heap_totals(heap)->est_live_sz - 1) < 0.001);
	heaps_free(&h);
}

static enum limits_step step(struct limits *l, uint64_t second, uint64_t memory, double overhead)
{
	struct limits_use u = {
		.now_ns = (second + 1) * 1000000000ull, .memory = memory, .overhead = overhead, .samples = overhead
	};
	return limits_next(l, &u);
}

static void memory_goes_down_the_ladder_and_back(void **state)
{
	struct limits l = { .memory_max = 1000 };
	(void)state;
	limits_set_interval(&l, 4096);
	assert_int_equal(step(&l, 0, 700, 0), LIMITS_FINE);
	assert_int_equal(step(&l, 1, 810, 0), LIMITS_COARSEN);
	assert_int_equal(l.interval, 8192);
	assert_int_not_equal(l.cause, CAUSE_NONE);
	assert_int_equal(step(&l, 1, 900, 0), LIMITS_FINE); /* too soon */
	assert_int_equal(step(&l, 4, 900, 0), LIMITS_THIN);
	assert_int_equal(l.interval, 16384);
	assert_int_equal(step(&l, 8, 960, 0), LIMITS_REFUSE);
	assert_int_equal(step(&l, 12, 960, 0), LIMITS_THIN);
	assert_int_equal(step(&l, 16, 700, 0), LIMITS_ACCEPT);
	assert_int_equal(step(&l, 20, 500, 0), LIMITS_FINE); /* not yet calm for long */
	assert_true(l.interval > 4096);
	assert_int_equal(l.cause, CAUSE_NONE); /* the shortage is over */
	uint64_t second = 60;
	while (l.interval > 4096 && second < 1000) {
		step(&l, second, 500, 0);
		second += 40;
	}
	assert_int_equal(l.interval, 4096);
	assert_int_equal(l.cause, CAUSE_NONE);
}

/* Long-lived blocks may fill memory to there: their samples stay, and new ones are still taken. */
static void rate_stays_where_memory_does_not_grow(void **state)
{
	struct limits l = { .memory_max = 1000 };
	(void)state;
	limits_set_interval(&l, 4096);
	assert_int_equal(step(&l, 1, 810, 0), LIMITS_COARSEN);
	for (uint64_t second = 2; second < 100; second++)
		assert_int_equal(step(&l, second, 815, 0), LIMITS_FINE);
	assert_int_equal(step(&l, 100, 825, 0), LIMITS_COARSEN);
	assert_int_equal(l.interval, 16384);
	assert_int_equal(step(&l, 101, 790, 0), LIMITS_FINE);
	assert_int_equal(step(&l, 102, 805, 0), LIMITS_COARSEN); /* again */
}

/* Memory that is always used would leave no slack: the rate recovers as soon as half of the remainder is free. */
static void rate_comes_back_in_a_tight_place(void **state)
{
	struct limits l = { .memory_max = 1000, .memory_least = 700, .overhead_max = 2 };
	(void)state;
	limits_set_interval(&l, 4096);
	assert_int_equal(step(&l, 1, 700, 3), LIMITS_COARSEN);
	assert_int_equal(step(&l, 100, 760, 0), LIMITS_FINE);
	assert_int_equal(step(&l, 101, 740, 0), LIMITS_REFINE);
	assert_int_equal(l.interval, 4096);
	assert_int_equal(l.cause, CAUSE_NONE);
}

/* Nothing may block there. */
static void no_pause_at_the_limit(void **state)
{
	struct limits l = { .memory_max = 1000 };
	(void)state;
	limits_set_interval(&l, 4096);
	assert_int_equal(limits_room(&l, 500), 380); /* to where blocks are thinned */
	assert_int_equal(limits_room(&l, 880), 0);
	assert_int_equal(limits_room(&l, 2000), 0);
	assert_int_equal(step(&l, 1, 890, 0), LIMITS_THIN);
	assert_int_equal(step(&l, 1, 890, 0), LIMITS_FINE);
	assert_int_equal(step(&l, 1, 935, 0), LIMITS_REFUSE);
	assert_false(limits_is_full(&l, 960));
	assert_int_equal(step(&l, 1, 960, 0), LIMITS_FINE);
	assert_true(limits_is_full(&l, 980));
	assert_int_equal(step(&l, 1, 980, 0), LIMITS_THIN);
	assert_int_equal(step(&l, 1, 970, 0), LIMITS_THIN);
	assert_int_equal(step(&l, 8, 700, 0), LIMITS_ACCEPT);
	assert_false(limits_is_full(&l, 980));
}

/* Kept entries stay in place, freed ones are free, and their space is reused. */
static void thinned_blocks_are_found(void **state)
{
	struct heaps h = { .seed = 7 };
	struct totals all;
	(void)state;
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= 5000; i++)
			put(&h, 1 + i % 3, 5, i * 16 + round * 1000000, 0);
		heaps_thin(&h);
	}
	for (uint32_t p = 1; p <= 3; p++) {
		const struct heap *heap = heaps_get(&h, (struct proc_id){ p })->heap;
		size_t blocks = 0;
		assert_int_equal(heap_each_live(heap, count_blocks, &blocks), 0);
		all = *heap_totals(heap);
		assert_int_equal(all.live_cnt, blocks);
		assert_int_equal(all.live_sz, blocks * SIZE);
		for (uint64_t round = 0; round < 3; round++) {
			for (uint64_t i = 1; i <= 5000; i++)
				drop(&h, p, i * 16 + round * 1000000);
		}
		assert_int_equal(heap_totals(heap)->live_cnt, 0);
	}
	heaps_free(&h);
}

static void overhead_lowers_the_rate(void **state)
{
	struct limits l = { .memory_max = 1000, .overhead_max = 2 };
	(void)state;
	limits_set_interval(&l, 4096);
	assert_int_equal(step(&l, 0, 1, 1.9), LIMITS_FINE);
	assert_int_equal(step(&l, 1, 1, 2.1), LIMITS_COARSEN);
	assert_int_equal(step(&l, 3, 1, 2.1), LIMITS_FINE);   /* its effect is not known yet */
	assert_int_equal(step(&l, 100, 1, 1.5), LIMITS_FINE); /* twice as much would be too much again */
	assert_int_equal(step(&l, 101, 1, 0.5), LIMITS_REFINE);
	assert_int_equal(l.interval, 4096);
}

/* Where calls cost the most, fewer samples save nothing. */
static void overhead_of_calls_is_left_alone(void **state)
{
	struct limits l = { .memory_max = 1000, .overhead_max = 2 };
	struct limits_use u = { .now_ns = 1000000000, .memory = 1, .overhead = 10, .samples = 0.9 };
	(void)state;
	limits_set_interval(&l, 4096);
	assert_int_equal(limits_next(&l, &u), LIMITS_FINE);
	assert_int_equal(l.cause, CAUSE_CALLS);
	u.samples = 1.1;
	assert_int_equal(limits_next(&l, &u), LIMITS_COARSEN);
	u.now_ns += 60000000000ull;
	u.samples = 0.5;
	assert_int_equal(limits_next(&l, &u), LIMITS_FINE);
	assert_int_equal(l.cause, CAUSE_CALLS);
	u.overhead = 1.5;
	assert_int_equal(limits_next(&l, &u), LIMITS_FINE);
	assert_int_not_equal(l.cause, CAUSE_CALLS);
	u.overhead = 0.5;
	assert_int_equal(limits_next(&l, &u), LIMITS_REFINE);
	assert_int_equal(l.cause, CAUSE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_apart_and_together),
		cmocka_unit_test(marks_count_from_there),
		cmocka_unit_test(marks_know_what_was_forgotten),
		cmocka_unit_test(rows_beyond_the_limit_become_one),
		cmocka_unit_test(errors_between_windows_are_kept_apart),
		cmocka_unit_test(errors_between_windows_count_from_marks),
		cmocka_unit_test(errors_between_windows_outlive_their_stacks),
		cmocka_unit_test(windows_stand_for_what_was_counted),
		cmocka_unit_test(rows_beyond_the_limit_stay_with_their_process),
		cmocka_unit_test(thinning_has_no_bias),
		cmocka_unit_test(live_blocks_come_back_as_events),
		cmocka_unit_test(memory_goes_down_the_ladder_and_back),
		cmocka_unit_test(rate_stays_where_memory_does_not_grow),
		cmocka_unit_test(rate_comes_back_in_a_tight_place),
		cmocka_unit_test(no_pause_at_the_limit),
		cmocka_unit_test(thinned_blocks_are_found),
		cmocka_unit_test(overhead_lowers_the_rate),
		cmocka_unit_test(overhead_of_calls_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
