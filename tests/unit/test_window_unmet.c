/* SPDX-License-Identifier: Apache-2.0 */
/* window/ratio and model: the error of sites that were seen before windows began, and in no window since. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/rules.h"
#include "window/ratio.h"

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) <= 1e-6 * fabs(b));
}

/* 10 are seen, then windows stand for `each` of 90 more, n times. */
static double unmet_after(int n, double each)
{
	struct ratio r = { 0 };
	ratio_stretch_begins(&r, 0);
	ratio_stretch_ends(&r, 10);
	for (int i = 0; i < n; i++)
		ratio_window(&r, each, 1);
	return ratio_unmet(&r, 100);
}

static void the_fewer_windows_the_less_is_known(void **state)
{
	(void)state;
	assert_near(unmet_after(0, 0), 9);
	assert_near(unmet_after(5, 0), 9);
	assert_near(unmet_after(1, 90), 9 * 0.95);
	assert_near(unmet_after(3, 30), 9 * (1 - cbrt(0.05)));
	assert_true(unmet_after(15, 6) > 0);
	assert_near(unmet_after(16, 6), 0);
	/* All of what no window stands for may be like what was seen. */
	assert_near(unmet_after(1, 45), 9 * (0.5 + 0.5 * 0.95));
	/* Windows that stand for hardly anything have not met the program, however many. */
	assert_near(unmet_after(16, 0.1), 9);
	/* Many windows that stand for half of it: a burst between them may be the other half. */
	assert_near(unmet_after(20, 2.25), 4.5);
}

static void a_window_that_stands_for_most_is_nearly_alone(void **state)
{
	struct ratio r = { 0 };
	(void)state;
	ratio_stretch_begins(&r, 0);
	ratio_stretch_ends(&r, 10);
	for (int i = 0; i < 20; i++)
		ratio_window(&r, i ? 1 : 71, 1);
	double equal = 90.0 * 90 / (71.0 * 71 + 19);
	assert_near(ratio_unmet(&r, 100), 9 * (1 - pow(0.05, 1 / equal)));
}

static void nothing_is_missed_where_all_was_seen(void **state)
{
	struct ratio always = { 0 }, never = { 0 };
	(void)state;
	ratio_stretch_begins(&always, 0);
	assert_near(ratio_unmet(&always, 100), 0);
	/* Nothing was seen: no row to be unsure of. */
	assert_near(ratio_unmet(&never, 100), 0);
}

static void apply(struct heap *h, struct event e)
{
	assert_int_equal(heap_apply(h, &e, NULL), 0);
}

/* Two sites of process 1 and one of process 2, all sampled while probes were attached continuously. */
static struct heap *heap_of_three(void)
{
	struct heap *h = heap_new();
	for (uint32_t i = 1; i <= 3; i++)
		apply(h, (struct event){ .kind = EVENT_ALLOC,
					 .proc = { i == 3 ? 2 : 1 },
					 .stack = { i },
					 .addr = 4096 * i,
					 .size = 100 * i,
					 .time_ns = i,
					 .interval = 1000 });
	return h;
}

static double error_of(const struct snapshot *s, size_t row, enum estimate of)
{
	return sqrt(snapshot_var(s, row, of));
}

/* The first process' rows are off by nine times their estimates, and the total by the sum of that. */
static void assert_unmet(const struct heap *h)
{
	struct heap *sure = heap_of_three();
	struct snapshot *s = heap_snapshot(h), *plain = heap_snapshot(sure);
	double off = 0, var = 0;
	assert_int_equal(s->n, 3);
	for (size_t i = 0; i < s->n; i++) {
		double unmet = s->rows[i].proc.n == 1 ? 9 : 0, more = unmet * s->rows[i].t.est_alloc_sz;
		double sum = plain->rows[i].t.est_alloc_sz, own = plain->rows[i].t.var[ALLOC_SZ] * (1 + unmet * unmet);
		assert_near(error_of(s, i, ALLOC_SZ), hypot(sqrt(few_variance(own, sum)), more));
		assert_near(s->rows[i].t.est_alloc_sz, sum);
		off += more;
		var += own;
	}
	assert_near(error_of(s, s->n, ALLOC_SZ), hypot(sqrt(few_variance(var, plain->all.est_alloc_sz)), off));
	assert_near(sqrt(heap_estimate(h).var[LIVE_SZ]), error_of(s, s->n, LIVE_SZ));
	snapshot_free(s);
	snapshot_free(plain);
	heap_free(sure);
}

static void a_recording_tells_at_its_end(void **state)
{
	struct heap *h = heap_of_three();
	(void)state;
	assert_int_equal(heap_note_unmet(h, (struct proc_id){ 1 }, true, 9), 0);
	apply(h, (struct event){ .kind = EVENT_WINDOW, .flags = EVENT_F_BY_CPU, .proc = { 1 }, .batch = 1, .size = 5 });
	assert_unmet(h);
	heap_free(h);
}

static void each_window_tells_while_it_runs(void **state)
{
	struct heap *h = heap_of_three();
	(void)state;
	apply(h, (struct event){ .kind = EVENT_WINDOW,
				 .flags = EVENT_F_BY_CPU,
				 .proc = { 1 },
				 .batch = 1,
				 .enter_ns = 90,
				 .interval = 9 * WINDOW_UNMET_ONE });
	assert_unmet(h);
	heap_free(h);
}

/* What had begun in a stretch went on unseen, except for a little that a window met. */
static void a_row_that_windows_hardly_met_is_as_unsure(void **state)
{
	struct heap *h = heap_new();
	const struct event alloc = {
		.kind = EVENT_ALLOC, .proc = { 1 }, .stack = { 1 }, .addr = 4096, .size = 100, .interval = 1000
	};
	struct event met = alloc;
	(void)state;
	met.addr = 8192;
	met.flags = EVENT_F_WINDOW | EVENT_F_BY_CPU;
	apply(h, alloc);
	double always = heap_estimate(h).est_alloc_sz;
	apply(h, (struct event){ .kind = EVENT_WINDOW,
				 .flags = EVENT_F_BY_CPU,
				 .proc = { 1 },
				 .batch = 1,
				 .size = 90,
				 .enter_ns = 90,
				 .interval = 9 * WINDOW_UNMET_ONE });
	apply(h, met);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 1);
	double met_sz = s->rows[0].t.est_alloc_sz - always, unmet = s->clusters[s->rows[0].windows].of[ALLOC_SZ].common;
	assert_true(met_sz > 0);
	assert_near(unmet, 9 * always - met_sz);
	assert_true(error_of(s, 0, ALLOC_SZ) >= unmet);
	snapshot_free(s);
	heap_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fewer_windows_the_less_is_known),
		cmocka_unit_test(a_window_that_stands_for_most_is_nearly_alone),
		cmocka_unit_test(nothing_is_missed_where_all_was_seen),
		cmocka_unit_test(a_recording_tells_at_its_end),
		cmocka_unit_test(each_window_tells_while_it_runs),
		cmocka_unit_test(a_row_that_windows_hardly_met_is_as_unsure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
