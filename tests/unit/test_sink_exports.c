/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of event sinks against the model's for the same events: long random
 * runs of a few processes, with reallocations, missed frees, exec and exit.
 */
#include "unit/sink_recordings.h"

#include <errno.h>
#include <math.h>

#include "format/paths.h"
#include "sink/registry.h"
#include "sink/tally.h"

#define EVENTS 20000
#define STACKS 40
#define PROCS 3

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* Few addresses, so that all unusual cases happen often. */
static struct event random_event(uint64_t i)
{
	struct event e = { .time_ns = 1000 + 10 * i, .enter_ns = 995 + 10 * i, .proc = { 1 + dice(PROCS) } };
	uint32_t kind = dice(100);
	e.tid = 10 * e.proc.n + dice(2);
	e.addr = 16 + 16 * dice(300);
	e.size = dice(2000);
	e.stack.n = 1 + STACKS / PROCS * (e.proc.n - 1) + dice(STACKS / PROCS);
	e.kind = kind < 50 ? EVENT_ALLOC : kind < 60 ? EVENT_REALLOC : EVENT_FREE;
	if (e.kind == EVENT_REALLOC) {
		e.old_addr = 16 + 16 * dice(300);
		e.addr = dice(10) ? e.addr : 0;
	}
	if (i % 4000 == 3999)
		e.kind = i % 8000 == 3999 ? EVENT_EXEC : EVENT_EXIT;
	return e;
}

/* All stacks are different, so each path is a row of the model. */
static struct catalog *catalog_of_stacks(void)
{
	struct catalog *c = catalog_new();
	assert_non_null(c);
	put_module(c, 1, "/bin/x", 4);
	put_mapping(c, 1, 1, 1, 0x1000);
	for (uint32_t i = 1; i <= STACKS; i++) {
		const struct frame f[] = { { { 1 }, 0x100 }, { { 1 }, 0x1000 + 16 * i } };
		put_stack(c, i, 1, f, LEN(f));
	}
	return c;
}

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) <= 1e-6 * (1 + fabs(b)));
}

struct seen {
	double begun, ended, temporary;
	double live[STACKS + 1], highest[STACKS + 1]; /* by path */
};

static void count_change(void *ctx, const struct tally_change *c)
{
	struct seen *s = ctx;
	s->begun += c->how < 0 ? c->by.sz : 0;
	s->ended += c->how >= 0 ? c->by.sz : 0;
	if (c->how < 0)
		s->live[c->path] += c->by.sz;
	else if (c->how < LIFE_EXIT)
		s->live[c->path] -= c->by.sz;
	if (s->live[c->path] > s->highest[c->path])
		s->highest[c->path] = s->live[c->path];
	s->temporary += c->life->temporary ? c->by.cnt : 0;
}

static void compare(const struct tally *t, const struct snapshot *s)
{
	double temporary = 0, life = 0;
	assert_near(t->peak.sz, s->peak_sz);
	assert_near(t->peak.cnt, s->peak_cnt);
	assert_int_equal(t->peak_ns, s->peak_ns);
	assert_near(t->live.sz, s->all.est_live_sz);
	for (size_t i = 0; i < s->n; i++) {
		uint32_t path = paths_of((struct paths *)&t->paths, s->rows[i].stack);
		const struct tally_row *r = &t->rows[path];
		assert_near(r->alloc.cnt, s->rows[i].t.est_alloc_cnt);
		assert_near(r->alloc.sz, s->rows[i].t.est_alloc_sz);
		assert_near(r->live.cnt, s->rows[i].t.est_live_cnt);
		assert_near(r->live.sz, s->rows[i].t.est_live_sz);
		assert_near(r->peak.sz, s->peak[i].sz);
		assert_near(r->peak.cnt, s->peak[i].cnt);
		assert_near(r->max.sz, ((struct seen *)t->ctx)->highest[path]);
		assert_true(r->life_ns + 1 >= s->lifetimes[i].life_ns);
		temporary += s->lifetimes[i].temp_cnt;
		life += s->lifetimes[i].life_ns;
	}
	assert_near(((struct seen *)t->ctx)->temporary, temporary);
	assert_true(life > 0);
	/* Samples do not show which blocks were temporary. */
	assert_true(s->facts.sampled ? temporary == 0 : temporary > 0);
}

static void tally_agrees_with_the_model(void **state)
{
	struct catalog *c = catalog_of_stacks();
	const struct sink_options o = { 0 };
	(void)state;
	for (uint32_t interval = 0; interval <= 512; interval += 512) {
		struct heap *h = heap_new();
		const struct sink_input in = { .catalog = c, .heap = h, .options = &o };
		struct seen seen = { 0 };
		struct tally t = { .changed = count_change, .ctx = &seen };
		seed = 7 + interval;
		t.paths.label = paths_label_source;
		tally_begin(&t, &in);
		for (uint64_t i = 0; i < EVENTS; i++) {
			struct event e = random_event(i);
			e.interval = interval;
			assert_int_equal(heap_apply(h, &e, NULL), 0);
		}
		assert_int_equal(tally_end(&t), 0);
		assert_near(seen.begun, seen.ended);
		struct snapshot *s = heap_snapshot(h);
		assert_non_null(s);
		compare(&t, s);
		snapshot_free(s);
		tally_free(&t);
		heap_free(h);
	}
	catalog_free(c);
}

static void a_sample_in_the_stream_is_refused(void **state)
{
	static const char *const formats[] = { "dhat", "heaptrack" };
	struct recording r = record_shop();
	(void)state;
	for (size_t i = 0; i < LEN(formats); i++) {
		const struct sink_ops *ops = sink_find(formats[i]);
		struct buf b = { 0 };
		struct sink_out out = { collect, &b };
		const struct sink_options o = { 0 };
		struct heap *h = heap_new();
		const struct sink_input in = { .catalog = r.c, .heap = h, .options = &o };
		struct event e = r.events[0];
		const struct applied a = { .id = 1, .weight = 2 };
		struct err err = { 0 };
		void *s;
		e.interval = 4096;
		assert_int_equal(ops->begin(&in, &out, &s, &err), 0);
		assert_int_equal(ops->event(s, &e, &a, &err), -EINVAL);
		assert_non_null(strstr(err.text, "this trace contains samples"));
		assert_int_equal(ops->end(s, NULL), 0);
		assert_int_equal(b.len, 0);
		heap_free(h);
		buf_free(&b);
	}
	forget(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tally_agrees_with_the_model),
		cmocka_unit_test(a_sample_in_the_stream_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
