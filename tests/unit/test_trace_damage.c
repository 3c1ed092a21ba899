/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: a file cut at every byte, with every bit flipped, with pieces missing or twice. The golden file
 * is version 1.0 as it was first written; it must be readable forever.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "trace/framing.h"
#include "unit/trace_sample.h"

#define GOLDEN "tests/golden/v1.alys"

static struct bytes golden;

static int load(void **state)
{
	(void)state;
	int fd = open(GOLDEN, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	golden = file_bytes(fd);
	close(fd);
	return 0;
}

static int unload(void **state)
{
	(void)state;
	free(golden.at);
	return 0;
}

static size_t catalog_size(const struct catalog *c)
{
	size_t n = 0;
	const char *key, *value;
	for (size_t i = 0; catalog_next_proc(c, &i); n++)
		;
	for (size_t i = 0; catalog_next_module(c, &i); n++)
		;
	for (size_t i = 0; catalog_next_mapping(c, &i); n++)
		;
	for (size_t i = 0; catalog_next_stack(c, &i); n++)
		;
	for (size_t i = 0; catalog_next_count(c, &i); n++)
		;
	for (size_t i = 0; catalog_next_meta(c, &i, &key, &value); n++)
		;
	return n + (catalog_symbols(c, (struct module_id){ 1 }, 0x1233) != NULL);
}

#define SAMPLE_DEFS 15

/* True when e is an event of the sample, at or after place *from; moves *from behind it. */
static bool is_next_sample(const struct event *e, unsigned int *from)
{
	for (; *from < SAMPLE_EVENTS; ++*from) {
		struct event s = sample_event(*from);
		if (s.time_ns == e->time_ns && s.kind == e->kind && s.addr == e->addr && s.size == e->size &&
		    s.stack.n == e->stack.n && s.proc.n == e->proc.n && s.old_addr == e->old_addr && s.gc_no == e->gc_no) {
			++*from;
			return true;
		}
	}
	return false;
}

static void assert_only_true_events(const struct view *v)
{
	unsigned int from = 0;
	for (size_t i = 0; i < v->events_cnt; i++)
		assert_true(is_next_sample(&v->events[i], &from));
	assert_true(v->events_cnt == v->health.events);
}

static void test_golden(void **state)
{
	(void)state;
	struct view v = view_of(memory_file(golden.at, golden.n));
	assert_int_equal(v.events_cnt, SAMPLE_EVENTS);
	assert_only_true_events(&v);
	assert_int_equal(catalog_size(v.c), SAMPLE_DEFS);
	assert_true(v.health.clean_end);
	assert_int_equal(v.health.bad_frames, 0);
	assert_int_equal(v.health.skipped_bytes, 0);
	assert_int_equal(v.health.last_ns >= sample_event(SAMPLE_EVENTS - 1).time_ns, 1);
	view_free(&v);
}

static void test_cut_at_every_byte(void **state)
{
	(void)state;
	size_t events = 0, defs = 0, grew = 0;
	for (size_t n = 0; n <= golden.n; n++) {
		struct view v = view_of(memory_file(golden.at, n));
		if (n < TRACE_HEADER_SZ) {
			assert_false(v.opened);
		} else {
			assert_true(v.opened);
			assert_int_equal(v.catalog_rc, 0);
			assert_int_equal(v.events_rc, 0);
			assert_int_equal(v.health.bad_frames, 0);
			assert_only_true_events(&v);
			assert_true(v.events_cnt >= events);
			assert_true(catalog_size(v.c) >= defs);
			grew += v.events_cnt > events;
			events = v.events_cnt;
			defs = catalog_size(v.c);
			/* The pad behind END may be missing. */
			if (n + FRAME_ALIGN <= golden.n)
				assert_false(v.health.clean_end);
		}
		view_free(&v);
	}
	assert_int_equal(events, SAMPLE_EVENTS);
	assert_true(grew >= 3);
}

static void test_every_bit_flipped(void **state)
{
	(void)state;
	for (size_t bit = 0; bit < golden.n * 8; bit++) {
		golden.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		struct view v = view_of(memory_file(golden.at, golden.n));
		golden.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(v.opened == (bit >= TRACE_HEADER_SZ * 8));
		if (v.opened) {
			assert_only_true_events(&v);
			size_t defs = catalog_size(v.c);
			assert_true(defs <= SAMPLE_DEFS);
			bool told = v.health.bad_frames || v.health.skipped_bytes || !v.health.clean_end;
			if (v.events_cnt != SAMPLE_EVENTS || defs != SAMPLE_DEFS)
				assert_true(told);
		}
		view_free(&v);
	}
}

/* Where frames begin, and the end of the file as the last. */
static size_t frame_places(size_t *at, size_t max)
{
	size_t n = 0;
	for (size_t p = TRACE_HEADER_SZ; p < golden.n && n < max;) {
		struct frame_head h;
		at[n++] = p;
		assert_true(frame_head_decode(golden.at + p, &h));
		p += FRAME_HEAD_SZ + frame_padded(h.stored_len);
	}
	at[n] = golden.n;
	return n;
}

static void test_frame_missing_or_twice(void **state)
{
	(void)state;
	size_t at[100], n = frame_places(at, 99);
	uint8_t *twice = malloc(2 * golden.n);
	assert_true(n >= 5);
	for (size_t i = 0; i + 1 < n; i++) {
		memcpy(twice, golden.at, at[i]);
		memcpy(twice + at[i], golden.at + at[i + 1], golden.n - at[i + 1]);
		struct view v = view_of(memory_file(twice, golden.n - (at[i + 1] - at[i])));
		assert_only_true_events(&v);
		assert_int_equal(v.health.bad_frames, 1);
		view_free(&v);
		memcpy(twice, golden.at, at[i + 1]);
		memcpy(twice + at[i + 1], golden.at + at[i], golden.n - at[i]);
		v = view_of(memory_file(twice, golden.n + (at[i + 1] - at[i])));
		assert_int_equal(v.events_cnt, SAMPLE_EVENTS);
		assert_int_equal(v.health.bad_frames, 1);
		view_free(&v);
	}
	free(twice);
}

/* Bytes put in or taken out move all later frames off their alignment. */
static void test_bytes_inserted_and_removed(void **state)
{
	(void)state;
	size_t at[100], n = frame_places(at, 99), last = at[n - 1];
	uint8_t *b = malloc(golden.n + 3);
	for (size_t p = TRACE_HEADER_SZ; p < last; p += 7) {
		memcpy(b, golden.at, p);
		memcpy(b + p,
		       "\xe7"
		       "AL",
		       3);
		memcpy(b + p + 3, golden.at + p, golden.n - p);
		struct view v = view_of(memory_file(b, golden.n + 3));
		assert_only_true_events(&v);
		assert_true(v.health.bad_frames > 0);
		assert_true(v.health.frames + 2 >= n);
		view_free(&v);
		memcpy(b + p, golden.at + p + 1, golden.n - p - 1);
		v = view_of(memory_file(b, golden.n - 1));
		assert_only_true_events(&v);
		assert_true(v.health.bad_frames > 0 || v.health.skipped_bytes > 0);
		view_free(&v);
	}
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_every_bit_flipped),
		cmocka_unit_test(test_frame_missing_or_twice),
		cmocka_unit_test(test_bytes_inserted_and_removed),
	};
	return cmocka_run_group_tests(tests, load, unload);
}
