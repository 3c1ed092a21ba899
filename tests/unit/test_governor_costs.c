/* SPDX-License-Identifier: Apache-2.0 */
/* governor/costs: whose CPU time counts, and which stops are of probes that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "governor/costs.h"
#include "governor/gauge.h"

#define SECOND 1000000000ull
#define PROCS 3

/* In place of the kernel and the probes. */
static struct {
	uint64_t used_ns[PROCS + 1]; /* by tgid; 0 = there is no such process */
	struct window_spent spent;
	bool may_leave;
} fake;

bool __wrap_gauge_cpu_ns(uint32_t tgid, uint64_t *out);
struct proc_id __wrap_target_find(const struct target_table *t, uint32_t tgid);
size_t __wrap_target_count(const struct target_table *t);
int __wrap_probe_window_spent(struct probe *p, struct window_spent *out);
bool __wrap_probe_window_may_leave(struct probe *p);

bool __wrap_gauge_cpu_ns(uint32_t tgid, uint64_t *out)
{
	*out = fake.used_ns[tgid];
	return *out;
}

struct proc_id __wrap_target_find(const struct target_table *t, uint32_t tgid)
{
	(void)t;
	return (struct proc_id){ fake.used_ns[tgid] ? tgid : 0 };
}

size_t __wrap_target_count(const struct target_table *t)
{
	size_t n = 0;
	(void)t;
	for (uint32_t i = 1; i <= PROCS; i++)
		n += fake.used_ns[i] > 0;
	return n;
}

int __wrap_probe_window_spent(struct probe *p, struct window_spent *out)
{
	(void)p;
	*out = fake.spent;
	return 0;
}

bool __wrap_probe_window_may_leave(struct probe *p)
{
	(void)p;
	return fake.may_leave;
}

static const struct record_options options;
static struct handles handles = { .o = &options };
static const struct stop_prices price = { .entry.cold_s = 1e-6, .back.cold_s = 2e-6, .stall_s = 1e-5 };

static void add_proc(uint32_t tgid, uint64_t start_ns)
{
	const struct proc p = { .id = { tgid }, .tgid = tgid, .start_ns = start_ns, .comm = "c", .exe = "/c", .attributes = "" };
	assert_int_equal(catalog_put_proc(handles.catalog, &p), 0);
}

static int prepare(void **state)
{
	static struct costs c;
	memset(&fake, 0, sizeof(fake));
	handles.catalog = catalog_new();
	assert_non_null(handles.catalog);
	c = (struct costs){ .h = &handles, .price = &price, .budget.max = 0.01 };
	*state = &c;
	return 0;
}

static int clear(void **state)
{
	costs_free(*state);
	catalog_free(handles.catalog);
	return 0;
}

/* Seconds that the programs used in a second, as the budget was told; probes took nothing. */
static double used(struct costs *c)
{
	double before = c->budget.cpu_s;
	costs_note(c, c->noted_ns + SECOND, 0, COST_GAP);
	return c->budget.cpu_s - before;
}

static void what_was_used_before_does_not_count(void **state)
{
	struct costs *c = *state;
	add_proc(1, 2 * SECOND);
	fake.used_ns[1] = 5 * SECOND;
	costs_begin(c, 10 * SECOND);
	assert_float_equal(used(c), 0, 1e-9);
	fake.used_ns[1] += SECOND / 4;
	assert_float_equal(used(c), 0.25, 1e-9);
}

static void a_program_that_began_later_counts_whole(void **state)
{
	struct costs *c = *state;
	costs_begin(c, 10 * SECOND);
	add_proc(1, 11 * SECOND);
	add_proc(2, 3 * SECOND); /* only found later */
	fake.used_ns[1] = fake.used_ns[2] = SECOND / 2;
	assert_float_equal(used(c), 0.5, 1e-9);
}

static void an_end_counts_what_was_not_counted(void **state)
{
	struct costs *c = *state;
	add_proc(1, 2 * SECOND);
	fake.used_ns[1] = SECOND;
	costs_begin(c, 10 * SECOND);
	fake.used_ns[1] = 0;
	costs_add_used(c, catalog_proc(handles.catalog, (struct proc_id){ 1 }), SECOND + SECOND / 8);
	costs_forget(c, 1);
	assert_float_equal(used(c), 0.125, 1e-9);
	assert_float_equal(used(c), 0, 1e-9);
}

/* Another process with the same number is looked at for the first time. */
static void a_number_is_used_again(void **state)
{
	struct costs *c = *state;
	add_proc(1, 11 * SECOND);
	costs_begin(c, 10 * SECOND);
	fake.used_ns[1] = SECOND / 2;
	assert_float_equal(used(c), 0.5, 1e-9);
	costs_forget(c, 1);
	fake.used_ns[1] = SECOND / 4;
	assert_float_equal(used(c), 0.25, 1e-9);
}

static void nothing_of_a_pause_counts(void **state)
{
	struct costs *c = *state;
	add_proc(1, 11 * SECOND);
	costs_begin(c, 10 * SECOND);
	fake.used_ns[1] = SECOND;
	costs_begin(c, 20 * SECOND);
	assert_float_equal(used(c), 0, 1e-9);
}

/* 1000 stops at probes that stay, and at collections 2000 before the window and 4000 in it. */
static double kept(struct costs *c, enum cost_of of, bool may_leave)
{
	double before = c->budget.kept_s;
	fake.may_leave = may_leave;
	fake.used_ns[1] += SECOND;
	fake.spent.traps += 3000;
	fake.spent.kept += 1000;
	fake.spent.collections += 2000;
	costs_window_opens(c);
	fake.spent.traps += 4000;
	fake.spent.collections += 4000;
	costs_note(c, c->noted_ns + SECOND, SECOND / 100, of);
	return c->budget.kept_s - before;
}

static void probes_at_collections_stay_in_gaps_at_most(void **state)
{
	static const struct {
		enum cost_of of;
		bool may_leave;
		double kept_s;
	} cases[] = {
		{ COST_STRETCH, true, 1e-3 },
		{ COST_GAP, true, 7e-3 },
		{ COST_WINDOW, true, 3e-3 },
		{ COST_WINDOW, false, 7e-3 },
	};
	struct costs *c = *state;
	add_proc(1, 11 * SECOND);
	costs_begin(c, 10 * SECOND);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_float_equal(kept(c, cases[i].of, cases[i].may_leave), cases[i].kept_s, 1e-9);
}

/* 300 probes of all programs, and 300 of one of three: each holds up whoever runs the program. */
static void a_link_of_one_program_holds_up_no_other(void **state)
{
	struct costs *c = *state;
	for (uint32_t i = 1; i <= PROCS; i++) {
		add_proc(i, 2 * SECOND);
		fake.used_ns[i] = SECOND;
	}
	costs_begin(c, 10 * SECOND);
	for (uint32_t i = 1; i <= PROCS; i++)
		fake.used_ns[i] += SECOND;
	fake.spent = (struct window_spent){ .stalled_ns = SECOND / 1000, .came = { 300, 300 } };
	costs_note(c, 11 * SECOND, 0, COST_WINDOW);
	/* 1 ms, 300 times 10 us, and a third of that; in three programs that run all the time. */
	assert_float_equal(c->budget.spent_s, 3 * (0.001 + 0.003 + 0.001), 1e-9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_used_before_does_not_count),
		TEST(a_program_that_began_later_counts_whole),
		TEST(an_end_counts_what_was_not_counted),
		TEST(a_number_is_used_again),
		TEST(nothing_of_a_pause_counts),
		TEST(probes_at_collections_stay_in_gaps_at_most),
		TEST(a_link_of_one_program_holds_up_no_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
