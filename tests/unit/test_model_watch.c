/* SPDX-License-Identifier: Apache-2.0 */
/* model: each part of heap_watch against a plain computation of the same on random events. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

#define MS 1000000ull
#define ALL (HEAP_PEAK | HEAP_TIMELINE | HEAP_LIFETIMES | HEAP_GROWTH)

static int setup(void **state)
{
	*state = heap_new();
	if (!*state)
		return -1;
	heap_watch(*state, ALL);
	return 0;
}

static int teardown(void **state)
{
	heap_free(*state);
	return 0;
}

static void apply(struct heap *h, struct event e)
{
	if (!e.proc.n)
		e.proc.n = 1;
	assert_int_equal(heap_apply(h, &e, NULL), 0);
}

#define APPLY(...) apply(h, (struct event){ __VA_ARGS__ })
#define ALLOC(t, a, sz, st) APPLY(.kind = EVENT_ALLOC, .time_ns = t, .tid = 1, .addr = a, .size = sz, .stack = { st })
#define FREE(t, a) APPLY(.kind = EVENT_FREE, .time_ns = t, .tid = 1, .addr = a)
#define REALLOC(t, old, a, sz, st) \
	APPLY(.kind = EVENT_REALLOC, .time_ns = t, .tid = 1, .old_addr = old, .addr = a, .size = sz, .stack = { st })

static void assert_double(double a, double b)
{
	if (fabs(a - b) > 1e-6 * (1 + fabs(b)))
		fail_msg("%.9g is not %.9g", a, b);
}

static void test_peak(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 100, 1);
	ALLOC(2, 0x20, 50, 2);
	FREE(3, 0x10);
	ALLOC(4, 0x30, 90, 3);
	FREE(5, 0x30);
	struct snapshot *s = heap_snapshot(h);
	assert_double(s->peak_sz, 150);
	assert_double(s->peak_cnt, 2);
	assert_int_equal(s->peak_ns, 2);
	assert_double(s->peak[0].sz, 100);
	assert_double(s->peak[1].sz, 50);
	assert_double(s->peak[2].sz, 0);
	snapshot_free(s);
}

static void test_peak_against_copies(void **state)
{
	struct heap *h = *state;
	static uint64_t size_at[256], at_peak[8], live[8];
	static uint32_t row_at[256];
	uint64_t all = 0, peak = 0;
	memset(size_at, 0, sizeof(size_at));
	memset(live, 0, sizeof(live));
	srandom(3);
	for (uint64_t t = 1; t < 40000; t++) {
		uint64_t a = (uint64_t)random() % 255 + 1;
		if (size_at[a]) {
			FREE(t, a);
			all -= size_at[a];
			live[row_at[a]] -= size_at[a];
			size_at[a] = 0;
			continue;
		}
		size_at[a] = (uint64_t)random() % 5000 + 1;
		row_at[a] = (uint32_t)random() % 8;
		ALLOC(t, a, size_at[a], row_at[a] + 1);
		all += size_at[a];
		live[row_at[a]] += size_at[a];
		if (all > peak) {
			peak = all;
			memcpy(at_peak, live, sizeof(live));
		}
	}
	struct snapshot *s = heap_snapshot(h);
	assert_double(s->peak_sz, (double)peak);
	for (size_t i = 0; i < 8; i++)
		assert_double(s->peak[i].sz, (double)at_peak[i]);
	snapshot_free(s);
}

static void test_temporary(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 10, 1);
	FREE(2, 0x10); /* temporary */
	ALLOC(3, 0x20, 20, 1);
	ALLOC(4, 0x30, 30, 1);
	FREE(5, 0x20); /* another one came between */
	FREE(6, 0x30); /* temporary: still the thread's last */
	ALLOC(7, 0x40, 40, 1);
	APPLY(.kind = EVENT_ALLOC, .time_ns = 8, .tid = 2, .addr = 0x50, .size = 5, .stack = { 1 });
	FREE(9, 0x40); /* temporary: it was another thread that allocated */
	ALLOC(10, 0x60, 60, 1);
	REALLOC(11, 0x60, 0x70, 70, 1); /* goes on, is not temporary */
	APPLY(.kind = EVENT_FREE, .time_ns = 12, .tid = 1, .addr = 0x70, .flags = EVENT_F_BY_GC);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 1);
	assert_double(s->lifetimes[0].temp_cnt, 3);
	assert_double(s->lifetimes[0].temp_sz, 80);
	assert_double(s->lifetimes[0].moved_cnt, 1);
	assert_double(s->lifetimes[0].moved_sz, 60);
	assert_double(s->lifetimes[0].freed_cnt, 6);
	snapshot_free(s);
}

/* There may have been others between them that were not sampled. */
static void test_samples_tell_nothing_of_temporary(void **state)
{
	struct heap *h = *state;
	APPLY(.kind = EVENT_ALLOC, .time_ns = 1, .tid = 1, .addr = 0x10, .size = 10, .stack = { 1 }, .interval = 1000);
	FREE(2, 0x10);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 1);
	assert_true(s->lifetimes[0].freed_cnt > 1);
	assert_double(s->lifetimes[0].temp_cnt, 0);
	snapshot_free(s);
}

static void test_lifetimes(void **state)
{
	struct heap *h = *state;
	ALLOC(1, 0x10, 10, 1);
	ALLOC(1, 0x20, 10, 1);
	FREE(1 + MS - 1, 0x10);
	FREE(1 + 5 * MS, 0x20);
	ALLOC(10 * MS, 0x30, 10, 1);
	APPLY(.kind = EVENT_EXEC, .time_ns = 5000 * MS);
	struct snapshot *s = heap_snapshot(h);
	assert_double(s->lifetimes[0].lives[0], 1);
	assert_double(s->lifetimes[0].lives[1], 1);
	assert_double(s->lifetimes[0].lives[4], 1);
	assert_double(s->lifetimes[0].life_ns, (double)(MS - 1 + 5 * MS + 4990 * MS));
	snapshot_free(s);
}

static void test_growth_and_ages(void **state)
{
	struct heap *h = *state;
	for (uint64_t i = 0; i < 1000; i++) {
		ALLOC(1 + i * 10 * MS, 0x1000 + i, 8, 1); /* leaks all the time */
		if (i == 5)
			ALLOC(2 + i * 10 * MS, 0x10, 4000, 2); /* once */
	}
	struct snapshot *s = heap_snapshot(h);
	const struct growth_row *leak = &s->growth[0], *once = &s->growth[1];
	assert_int_equal(leak->n, once->n);
	assert_true(leak->n > GROWTH_SLICES / 2 && leak->n <= GROWTH_SLICES);
	for (uint32_t i = 1; i < leak->n; i++)
		assert_true(leak->live_sz[i] > leak->live_sz[i - 1]);
	for (uint32_t i = 0; i < leak->n; i++)
		assert_double(once->live_sz[i], 4000);
	/* Slice k ends before (k + 1) * width: as many events as fit, 10 ms each, the first at 0. */
	for (uint32_t i = 0; i + 1 < leak->n; i++)
		assert_double(leak->live_sz[i], 8 * ceil((double)((i + 1) * s->growth_slice_ns) / (10.0 * MS)));
	assert_double(leak->live_sz[leak->n - 1], 8000);
	/* Ages at 9990 ms: 0, 10 .. 90, 100 .. 990, 1000 .. 9990 ms. */
	const double ages[AGE_CNT] = { 1, 0, 9, 90, 900 };
	for (size_t i = 0; i < AGE_CNT; i++)
		assert_double(leak->ages[i], ages[i]);
	assert_int_equal(leak->oldest_ns, 1);
	snapshot_free(s);
	s = heap_snapshot(h); /* taking one changes nothing */
	assert_double(s->growth[0].ages[4], 900);
	snapshot_free(s);
}

static double sum_of(const struct snapshot *s, bool young)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++)
		sum += s->rows[i].young == young ? s->rows[i].t.est_live_sz : 0;
	return sum;
}

/* Some are freed, some belong to a process that has exited; what is old and what is young make up the whole. */
static void test_young_blocks_have_rows_of_their_own(void **state)
{
	struct heap *h = heap_new();
	double old = 0, young = 0;
	(void)state;
	heap_watch(h, HEAP_GROWTH | HEAP_LEFT | HEAP_BY_THREAD);
	for (uint64_t i = 0; i < 1000; i++) {
		APPLY(.kind = EVENT_ALLOC, .time_ns = 1 + i * MS, .tid = i % 2, .addr = 16 + i, .size = 1 + i,
		      .stack = { 1 + i % 3 }, .interval = 100, .proc = { 1 + i % 2 });
		*(i < 900 ? &old : &young) += sample_weight(1 + i, 100) * (double)(1 + i);
	}
	APPLY(.kind = EVENT_EXIT, .time_ns = 1000 * MS, .proc = { 2 });
	struct snapshot *whole = heap_snapshot(h), *s = heap_snapshot_aged(h, 1 + 900 * MS);
	assert_double(sum_of(whole, false), old + young);
	assert_double(sum_of(whole, true), 0);
	assert_double(sum_of(s, false), old);
	assert_double(sum_of(s, true), young);
	assert_int_equal(whole->n, 6);
	assert_int_equal(s->n, 12);
	for (size_t i = 0; i < whole->n; i++) {
		const struct snapshot_row *a = &s->rows[i], *b = &s->rows[whole->n];
		for (; b->stack.n != a->stack.n || b->proc.n != a->proc.n; b++)
			assert_true(b < &s->rows[s->n - 1]);
		assert_true(!a->young && b->young && b->split == a->split && s->growth[i].n < whole->growth[i].n);
		assert_double(a->t.var[LIVE_SZ] + b->t.var[LIVE_SZ], whole->rows[i].t.var[LIVE_SZ]);
		assert_true(s->growth[i].ages[2] == 0 && whole->growth[i].ages[2] > 0);
	}
	snapshot_free(s);
	s = heap_snapshot_aged(h, 0);
	assert_double(sum_of(s, false), 0);
	snapshot_free(s);
	snapshot_free(whole);
	heap_free(h);
}

#define RUN 3000

struct lived {
	uint64_t born, died; /* 0: never */
	uint64_t stack;
	double var;
};

/* Only what is in use at one of the two ends adds to the error of the growth. */
static double var_of_gain(const struct lived *blocks, uint64_t stack, uint64_t slice_ns)
{
	double var = 0;
	for (size_t i = 0; i < RUN; i++) {
		const struct lived *b = &blocks[i];
		bool before = (b->born - 1) < slice_ns && (!b->died || b->died - 1 >= slice_ns);
		var += b->stack == stack && before != !b->died ? b->var : 0;
	}
	return var;
}

/* Blocks of two processes, one of which ends halfway with live blocks; halvings are before, after and between. */
static void test_error_of_growth(void **state)
{
	static struct lived blocks[RUN];
	struct heap *h = *state;
	srand(4);
	for (uint64_t i = 0; i < RUN; i++) {
		uint64_t now = 1 + i * i * MS / 400, proc = i < RUN / 2 ? 1 + i % 2 : 1, size = 1 + (uint64_t)rand() % 4000;
		uint64_t stack = 3 * (proc - 1) + 1 + i % 3;
		double est = (double)size * sample_weight(size, 1000);
		blocks[i] = (struct lived){ .born = now, .stack = stack, .var = est * (est - (double)size) };
		APPLY(.kind = EVENT_ALLOC, .time_ns = now, .addr = 0x10 + i, .size = size, .stack = { stack }, .interval = 1000,
		      .proc = { proc });
		uint64_t old = (uint64_t)rand() % (i + 1), of = old < RUN / 2 ? 1 + old % 2 : 1;
		if (!blocks[old].died && (of == 1 || i < RUN / 2)) {
			APPLY(.kind = EVENT_FREE, .time_ns = now, .addr = 0x10 + old, .proc = { of });
			blocks[old].died = now;
		}
		if (i == RUN / 2)
			APPLY(.kind = EVENT_EXIT, .time_ns = now, .proc = { 2 });
	}
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 6);
	for (uint64_t stack = 1; stack <= 6; stack++) {
		double want = var_of_gain(blocks, stack, s->growth_slice_ns);
		assert_true(want > 0 && want < s->rows[stack - 1].t.var[LIVE_SZ] * 3);
		assert_double(s->growth[stack - 1].gained_var, want);
	}
	snapshot_free(s);
}

#define MS 1000000ull

/* A window stands for the gap before it: its blocks are spread over that time, and so are their frees. */
static void test_timeline_of_windows(void **state)
{
	struct heap *h = *state;
	double allocated[2] = { 0 }, freed[2] = { 0 };
	FREE(1000 * MS, 0x10);
	ALLOC(1000 * MS, 0x20, 16, 1);
	APPLY(.kind = EVENT_WINDOW, .time_ns = 1095 * MS, .old_addr = 5 * MS, .span = 100000, .size = 1000, .batch = 1);
	APPLY(.kind = EVENT_ALLOC, .flags = EVENT_F_WINDOW, .time_ns = 1100 * MS, .tid = 1, .addr = 0x30, .size = 100,
	      .interval = 10000, .stack = { 2 });
	FREE(1200 * MS, 0x30);
	struct snapshot *s = heap_snapshot(h);
	const struct timeline *t = &s->timeline;
	for (size_t i = 0; i < t->n; i++) {
		uint64_t begin = t->first_ns + i * t->slice_ns, end = begin + t->slice_ns;
		bool late = begin >= 1100 * MS;
		allocated[late] += t->at[i].alloc_sz;
		freed[late] += t->at[i].freed_sz;
		if (i && end <= 1100 * MS)
			assert_double(t->at[i].alloc_sz, 100 * event_weight(&(struct event){ .size = 100, .interval = 10000 }) *
								 (double)t->slice_ns / (double)(100 * MS));
		if (begin >= 1100 * MS && end <= 1200 * MS)
			assert_true(t->at[i].freed_sz > 0);
	}
	assert_true(t->n > 10 && allocated[0] > 9000 && allocated[1] == 0 && freed[1] > 9000);
	snapshot_free(s);
}

static void test_timeline(void **state)
{
	struct heap *h = *state;
	double alloc = 0, freed = 0, peak = 0;
	for (uint64_t i = 0; i < 5000; i++) {
		ALLOC(1 + i * MS, 0x10 + i, 100 + i, 1);
		if (i % 3 == 0)
			FREE(2 + i * MS, 0x10 + i / 3);
	}
	struct snapshot *s = heap_snapshot(h);
	const struct timeline *t = &s->timeline;
	assert_int_equal(t->first_ns, 1);
	assert_true(t->n > 256 && t->n <= 512);
	assert_true(t->n * t->slice_ns >= 4999 * MS && (t->n - 1) * t->slice_ns <= 4999 * MS);
	double live = 0;
	for (size_t i = 0; i < t->n; i++) {
		live += t->at[i].alloc_sz - t->at[i].freed_sz;
		assert_double(t->at[i].live_sz, live);
		alloc += t->at[i].alloc_sz;
		freed += t->at[i].freed_sz;
		peak = fmax(peak, t->at[i].peak_sz);
	}
	assert_double(alloc, s->all.est_alloc_sz);
	assert_double(alloc - freed, s->all.est_live_sz);
	assert_double(peak, s->peak_sz);
	snapshot_free(s);
}

static void test_splits(void **state)
{
	struct heap *h = heap_new();
	(void)state;
	heap_watch(h, HEAP_BY_SIZE | HEAP_PEAK);
	ALLOC(1, 0x10, 64, 7);
	ALLOC(2, 0x20, 32, 7);
	ALLOC(3, 0x30, 64, 7);
	FREE(4, 0x20);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->rows[0].split, 32);
	assert_int_equal(s->rows[0].t.live_cnt, 0);
	assert_int_equal(s->rows[1].split, 64);
	assert_int_equal(s->rows[1].t.live_cnt, 2);
	assert_int_equal(s->rows[1].stack.n, 7);
	assert_double(s->peak[0].sz, 32);
	assert_double(s->peak[1].sz, 128);
	snapshot_free(s);
	heap_free(h);
	h = heap_new();
	heap_watch(h, HEAP_BY_THREAD);
	for (uint32_t i = 0; i < 300; i++)
		APPLY(.kind = EVENT_ALLOC, .tid = 1000 + i % 3, .addr = 8 + i, .size = 1, .stack = { 1 + i % 2 });
	s = heap_snapshot(h);
	assert_int_equal(s->n, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(s->rows[i].split, 1000 + i % 3);
		assert_int_equal(s->rows[i].t.alloc_cnt, 50);
	}
	snapshot_free(s);
	heap_free(h);
}

/* Heap-fulls by the process that their address names, and all else in one row. */
static void test_erlang_processes(void **state)
{
	const uint8_t flags = EVENT_F_HEAPFUL | EVENT_F_UNFOLLOWED;
	struct heap *h = heap_new();
	(void)state;
	heap_watch(h, HEAP_BY_ERLANG_PROCESS);
	for (uint32_t i = 0; i < 30; i++)
		APPLY(.kind = EVENT_ALLOC, .flags = flags, .addr = 0x103 + 16 * (i % 3), .size = 80, .stack = { 7 });
	ALLOC(2, 0x20, 32, 7);
	ALLOC(3, 0x30, 32, 7);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 4);
	assert_true(s->rows[0].split == 0 && s->rows[0].t.alloc_cnt == 2);
	for (size_t i = 1; i < 4; i++)
		assert_true(s->rows[i].split == 0xf3 + 16 * i && s->rows[i].t.alloc_sz == 800);
	snapshot_free(s);
	heap_free(h);
}

/* The stated error against the spread of many samplings of the same allocations. */
static void test_standard_error(void **state)
{
	(void)state;
	double sum = 0, square = 0, stated = 0, truth = 0, freed = 0, freed_square = 0, freed_stated = 0;
	double counted = 0, counted_square = 0, counted_stated = 0;
	const int rounds = 400;
	srandom(11);
	for (int r = 0; r < rounds; r++) {
		struct heap *h = heap_new();
		heap_watch(h, HEAP_PEAK | HEAP_LIFETIMES | HEAP_TIMELINE);
		truth = 0;
		for (uint64_t i = 0; i < 2000; i++) {
			uint64_t size = 16 + i % 400;
			truth += (double)size;
			if ((double)random() / RAND_MAX < 1 / sample_weight(size, 1000))
				APPLY(.kind = EVENT_ALLOC, .addr = 8 + i, .size = size, .interval = 1000);
		}
		struct snapshot *s = heap_snapshot(h);
		assert_double(s->all.var[ALLOC_SZ], s->all.var[LIVE_SZ]);
		assert_double(s->all.var[ALLOC_CNT], s->all.var[LIVE_CNT]);
		snapshot_free(s);
		for (uint64_t i = 0; i < 1000; i++)
			APPLY(.kind = EVENT_FREE, .addr = 8 + i, .interval = 1000);
		s = heap_snapshot(h);
		sum += s->all.est_alloc_sz;
		square += s->all.est_alloc_sz * s->all.est_alloc_sz;
		stated += s->all.var[ALLOC_SZ];
		counted += s->all.est_alloc_cnt;
		counted_square += s->all.est_alloc_cnt * s->all.est_alloc_cnt;
		counted_stated += s->all.var[ALLOC_CNT];
		assert_double(s->peak_var, totals_var(&s->all, ALLOC_SZ));
		assert_double(s->peak[0].var, s->all.var[ALLOC_SZ]);
		const struct lifetime_row *l = &s->lifetimes[0];
		freed += l->freed_sz;
		freed_square += l->freed_sz * l->freed_sz;
		freed_stated += l->freed_var;
		assert_double(l->freed_var + s->all.var[LIVE_SZ], s->all.var[ALLOC_SZ]);
		assert_double(s->timeline.at[s->timeline.n - 1].live_var, totals_var(&s->all, LIVE_SZ));
		snapshot_free(s);
		heap_free(h);
	}
	double mean = sum / rounds, spread = sqrt(square / rounds - mean * mean);
	assert_true(fabs(mean - truth) < 4 * spread / sqrt(rounds));
	assert_true(fabs(sqrt(stated / rounds) / spread - 1) < 0.12);
	mean = counted / rounds;
	spread = sqrt(counted_square / rounds - mean * mean);
	assert_true(fabs(mean - 2000) < 4 * spread / sqrt(rounds));
	assert_true(fabs(sqrt(counted_stated / rounds) / spread - 1) < 0.12);
	mean = freed / rounds;
	spread = sqrt(freed_square / rounds - mean * mean);
	assert_true(fabs(sqrt(freed_stated / rounds) / spread - 1) < 0.12);
}

static void test_strange_times(void **state)
{
	struct heap *h = *state;
	ALLOC(UINT64_MAX, 1, UINT64_MAX, 1);
	ALLOC(0, 2, 1, 1);
	ALLOC(1, 3, 1, 2);
	FREE(UINT64_MAX, 2);
	FREE(5, 3);
	ALLOC(7, 4, 0, 3);
	struct snapshot *s = heap_snapshot(h);
	assert_int_equal(s->n, 3);
	snapshot_free(s);
}

static uint32_t number_births(void *ctx, const struct life *life, const struct event *e)
{
	(void)ctx, (void)life;
	return (uint32_t)e->size;
}

static void write_ends(void *ctx, const struct life *life, enum life_end how, const struct event *e)
{
	char *story = ctx;
	assert_true((e == NULL) == (how == LIFE_LEFT));
	snprintf(story + strlen(story), 200 - strlen(story), "%u:%d%s ", life->tag, (int)how, life->temporary ? "t" : "");
}

static void listener_hears_how_lives_end(void **state)
{
	static const struct event script[] = {
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .addr = 16, .size = 1 },
		{ .kind = EVENT_FREE, .proc = { 1 }, .addr = 16 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .addr = 32, .size = 2 },
		{ .kind = EVENT_ALLOC, .proc = { 1 }, .addr = 32, .size = 3 },
		{ .kind = EVENT_REALLOC, .proc = { 1 }, .addr = 48, .old_addr = 32, .size = 4 },
		{ .kind = EVENT_ALLOC, .proc = { 2 }, .addr = 48, .size = 5 },
		{ .kind = EVENT_EXEC, .proc = { 1 } },
		{ .kind = EVENT_EXIT, .proc = { 2 } },
		{ .kind = EVENT_ALLOC, .proc = { 3 }, .addr = 48, .size = 6 },
		{ .kind = EVENT_EXIT, .proc = { 9 } },
		{ .kind = EVENT_REALLOC, .proc = { 3 }, .addr = 0, .old_addr = 48 },
		{ .kind = EVENT_ALLOC, .proc = { 3 }, .addr = 64, .size = 7 },
	};
	char story[200] = "", want[200];
	const struct heap_listener listener = { number_births, write_ends, story };
	struct heap *h = *state;
	heap_listen(h, &listener);
	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++)
		assert_int_equal(heap_apply(h, &script[i], NULL), 0);
	heap_report_left(h);
	snprintf(want, sizeof(want), "1:%dt 2:%d 3:%d 4:%d 5:%d 6:%d 7:%d ", LIFE_FREED, LIFE_MISSED, LIFE_MOVED, LIFE_EXEC,
		 LIFE_EXIT, LIFE_FREED, LIFE_LEFT);
	assert_string_equal(story, want);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_peak),
		T(test_peak_against_copies),
		T(test_temporary),
		T(test_samples_tell_nothing_of_temporary),
		T(test_lifetimes),
		T(test_growth_and_ages),
		T(test_young_blocks_have_rows_of_their_own),
		T(test_error_of_growth),
		T(test_timeline),
		T(test_timeline_of_windows),
		T(test_splits),
		T(test_erlang_processes),
		T(test_standard_error),
		T(test_strange_times),
		T(listener_hears_how_lives_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
