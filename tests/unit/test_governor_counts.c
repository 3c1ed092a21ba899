/* SPDX-License-Identifier: Apache-2.0 */
/* governor/counts: from where on a process counts, and who is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/catalog.h"
#include "governor/counts.h"

#define SECOND 1000000000ull
#define PROCS 8

/* In place of the kernel and of processes' memory. */
static struct {
	uint64_t now_ns;
	double cpu_ns[PROCS], bytes[PROCS]; /* what the processes' gauges show, by tgid */
	uint32_t program[PROCS];            /* which proc_id each is now; 0 = it has ended */
	bool has_counter[PROCS], is_probed[PROCS];
	unsigned int searches; /* for counters */
} fake;

uint64_t __wrap_now_ns(void);
struct proc_id __wrap_target_find(const struct target_table *t, uint32_t tgid);
bool __wrap_target_is_current(const struct target_table *t, const struct proc *p);
size_t __wrap_target_count(const struct target_table *t);
struct proc_id __wrap_target_heap(const struct target_table *t, struct proc_id id, enum subject s);
struct gauge __wrap_gauge_cpu(const struct proc *p);
bool __wrap_gauge_bytes(const struct handles *h, const struct attach *attach, const struct proc *p, struct gauge *out);
struct reading __wrap_gauge_read(struct gauge *g, const struct probe *probe, const struct stop_prices *price);
struct reading __wrap_gauge_used(const struct gauge *g, const struct probe *probe, const struct stop_prices *price,
				 uint64_t cpu_ns);

uint64_t __wrap_now_ns(void)
{
	return fake.now_ns;
}

struct proc_id __wrap_target_find(const struct target_table *t, uint32_t tgid)
{
	(void)t;
	return (struct proc_id){ fake.program[tgid] };
}

bool __wrap_target_is_current(const struct target_table *t, const struct proc *p)
{
	(void)t;
	return fake.program[p->tgid] == p->id.n;
}

size_t __wrap_target_count(const struct target_table *t)
{
	(void)t;
	return PROCS;
}

struct proc_id __wrap_target_heap(const struct target_table *t, struct proc_id id, enum subject s)
{
	(void)t;
	(void)s;
	return id;
}

struct gauge __wrap_gauge_cpu(const struct proc *p)
{
	return (struct gauge){ .tgid = p->tgid, .by_cpu = true };
}

bool __wrap_gauge_bytes(const struct handles *h, const struct attach *attach, const struct proc *p, struct gauge *out)
{
	(void)h;
	(void)attach;
	fake.searches++;
	*out = (struct gauge){ .tgid = p->tgid };
	return fake.has_counter[p->tgid];
}

struct reading __wrap_gauge_read(struct gauge *g, const struct probe *probe, const struct stop_prices *price)
{
	(void)probe;
	(void)price;
	return (struct reading){ .known = fake.program[g->tgid],
				 .value = g->by_cpu ? fake.cpu_ns[g->tgid] : fake.bytes[g->tgid],
				 .timed = fake.cpu_ns[g->tgid] > 0,
				 .own_ns = fake.cpu_ns[g->tgid],
				 .probed = fake.is_probed[g->tgid] };
}

struct reading __wrap_gauge_used(const struct gauge *g, const struct probe *probe, const struct stop_prices *price,
				 uint64_t cpu_ns)
{
	(void)g;
	(void)probe;
	(void)price;
	return (struct reading){ .known = true, .timed = true, .value = (double)cpu_ns, .own_ns = (double)cpu_ns };
}

static struct record_options options;
static struct handles handles = { .o = &options };

static const struct proc *add(struct proc p)
{
	p.comm = "c";
	p.exe = "/c";
	p.attributes = "";
	assert_int_equal(catalog_put_proc(handles.catalog, &p), 0);
	fake.program[p.tgid] = p.id.n;
	return catalog_proc(handles.catalog, p.id);
}

static int prepare(void **state)
{
	static struct counts s;
	memset(&fake, 0, sizeof(fake));
	fake.now_ns = 100 * SECOND;
	options = (struct record_options){ .interval = 4096 };
	handles.catalog = catalog_new();
	assert_non_null(handles.catalog);
	s = (struct counts){ .h = &handles };
	counts_begin(&s, fake.now_ns);
	*state = &s;
	return 0;
}

static int clear(void **state)
{
	counts_free(*state);
	catalog_free(handles.catalog);
	return 0;
}

static double bytes_of(const struct counts *s, uint32_t id)
{
	return counts_of(s, (struct proc_id){ id }, false)->all;
}

static double cpu_of(const struct counts *s, uint32_t id)
{
	return counts_of(s, (struct proc_id){ id }, true)->all;
}

/* Two looks, which find 7 and 10. */
static void assert_counted(struct counts *s, const struct proc *p, double bytes, double cpu_ns)
{
	fake.has_counter[p->tgid] = true;
	fake.bytes[p->tgid] = fake.cpu_ns[p->tgid] = 7;
	counts_update(s, false);
	fake.bytes[p->tgid] = fake.cpu_ns[p->tgid] = 10;
	counts_update(s, false);
	assert_float_equal(bytes_of(s, p->id.n), bytes, 1e-9);
	assert_float_equal(cpu_of(s, p->id.n), cpu_ns, 1e-9);
}

static void one_from_before_counts_from_the_first_look(void **state)
{
	assert_counted(*state, add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 50 * SECOND }), 3, 3);
}

static void one_that_began_here_counts_whole(void **state)
{
	assert_counted(*state, add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 101 * SECOND }), 10, 10);
}

static void a_command_counts_whole(void **state)
{
	static char *command[] = { NULL };
	options.command = command;
	assert_counted(*state, add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 50 * SECOND }), 10, 10);
}

/* A child has a copy of its parent's counter, and CPU time of its own. */
static void a_child_has_its_parent_s_bytes(void **state)
{
	add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 50 * SECOND });
	assert_counted(*state, add((struct proc){ .id = { 2 }, .parent = { 1 }, .tgid = 2, .start_ns = 101 * SECOND }), 3, 10);
}

/* The kernel counts on, and the new program's counter begins. */
static void a_new_program_begins_where_the_old_one_ended(void **state)
{
	struct counts *s = *state;
	assert_counted(s, add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 50 * SECOND }), 3, 3);
	fake.bytes[1] = 4;
	fake.cpu_ns[1] = 12;
	add((struct proc){ .id = { 2 }, .tgid = 1, .generation = 1, .start_ns = 50 * SECOND });
	counts_update(s, false);
	assert_float_equal(bytes_of(s, 2), 4, 1e-9);
	assert_float_equal(cpu_of(s, 2), 2, 1e-9);
	assert_float_equal(bytes_of(s, 1), 3, 1e-9);
}

/* After a pause, who was there in it counts from its end. */
static void a_pause_does_not_count(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 101 * SECOND });
	assert_counted(s, p, 10, 10);
	fake.now_ns = 200 * SECOND;
	counts_begin(s, fake.now_ns);
	assert_null(counts_of(s, p->id, true));
	assert_counted(s, p, 3, 3);
}

static void counters_are_looked_for_less_and_less(void **state)
{
	struct counts *s = *state;
	add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 50 * SECOND });
	for (int i = 0; i < 1000; i++) {
		fake.now_ns += SECOND / 100;
		counts_update(s, false);
	}
	/* After 0.1, 0.2, 0.4, 0.8, 1.6 s, and then every 3.2 s. */
	assert_in_range(fake.searches, 6, 9);
	assert_null(counts_of(s, (struct proc_id){ 1 }, false));
	assert_non_null(counts_of(s, (struct proc_id){ 1 }, true));
}

/* The last one takes the place of the first, and is found there. */
static void one_that_has_ended_is_forgotten_when_live(void **state)
{
	struct counts *s = *state;
	s->live = true;
	for (uint32_t i = 1; i < PROCS; i++) {
		fake.has_counter[i] = true;
		fake.bytes[i] = fake.cpu_ns[i] = i;
		add((struct proc){ .id = { i }, .tgid = i, .start_ns = 101 * SECOND });
	}
	counts_update(s, false);
	assert_int_equal(s->procs_cnt, 2 * (PROCS - 1));
	fake.program[1] = fake.program[4] = 0;
	counts_update(s, false);
	assert_int_equal(s->procs_cnt, 2 * (PROCS - 3));
	for (uint32_t i = 1; i < PROCS; i++) {
		assert_int_equal(counts_of(s, (struct proc_id){ i }, true) != NULL, i != 1 && i != 4);
		if (i != 1 && i != 4)
			assert_float_equal(bytes_of(s, i), i, 1e-9);
	}
}

static void one_that_has_ended_is_kept_for_a_trace(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 101 * SECOND });
	assert_counted(s, p, 10, 10);
	fake.program[1] = 0;
	counts_update(s, false);
	assert_float_equal(bytes_of(s, 1), 10, 1e-9);
}

/* A program that no window met is missed; by CPU time only if it met a probe, and has no counter that knows better. */
static void what_no_window_met_is_missed(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 101 * SECOND });
	assert_counted(s, p, 10, 10);
	assert_float_equal(counts_missed(s, false), 10, 1e-9);
	assert_float_equal(counts_missed(s, true), 0, 1e-9);
	fake.is_probed[1] = true;
	counts_update(s, false);
	assert_float_equal(counts_missed(s, true), 10, 1e-9);
	s->own_counters = true;
	assert_float_equal(counts_missed(s, true), 0, 1e-9);
	s->own_counters = false;
	ratio_window(&counts_of(s, p->id, false)->ratio, 1, 8);
	assert_float_equal(counts_missed(s, false), 0, 1e-9);
	assert_float_equal(counts_missed(s, true), 0, 1e-9);
}

/* A second of CPU time at `rate` bytes a ns, with a look every 50 ms. */
static void run(struct counts *s, uint32_t tgid, double rate)
{
	for (int i = 0; i < 20; i++) {
		fake.cpu_ns[tgid] += SECOND / 20;
		fake.bytes[tgid] += rate * SECOND / 20;
		counts_update(s, false);
	}
}

static const struct proc *add_counting(void)
{
	fake.has_counter[1] = true;
	return add((struct proc){ .id = { 1 }, .tgid = 1, .start_ns = 101 * SECOND });
}

/* Nobody can read the memory of one that has ended. */
static void one_that_ends_has_counted_on_as_before(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add_counting();
	run(s, 1, 3);
	fake.program[1] = 0;
	counts_add_used(s, p, SECOND + SECOND / 50);
	assert_float_equal(cpu_of(s, 1), SECOND + SECOND / 50, 1);
	assert_float_equal(bytes_of(s, 1), 3.0 * (SECOND + SECOND / 50), 1);
}

/* It was read when all was over: there is nothing to add. */
static void the_end_is_not_added_twice(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add_counting();
	run(s, 1, 3);
	counts_add_used(s, p, SECOND);
	assert_float_equal(bytes_of(s, 1), 3.0 * SECOND, 1);
}

/* A turn may be reported after its end. */
static void what_was_read_before_the_end_changes_nothing(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add_counting();
	run(s, 1, 3);
	counts_read(s, true);
	fake.program[1] = 0;
	counts_add_used(s, p, SECOND + SECOND / 50);
	for (size_t i = 0; i < s->procs_cnt; i++)
		counts_note_closed(&s->procs[i]);
	assert_float_equal(cpu_of(s, 1), SECOND + SECOND / 50, 1);
	assert_float_equal(bytes_of(s, 1), 3.0 * (SECOND + SECOND / 50), 1);
}

/* Windows stand for all but what came from the opening of the last one on. */
static void the_window_that_cut_it_stands_for_itself(void **state)
{
	struct counts *s = *state;
	const struct proc *p = add_counting();
	run(s, 1, 3);
	struct proc_count *c = counts_of(s, p->id, false);
	ratio_window(&c->ratio, 0.3 * SECOND, 8);
	fake.cpu_ns[1] += SECOND / 100;
	fake.bytes[1] += 3.0 * SECOND / 100;
	counts_read(s, false);
	fake.program[1] = 0;
	fake.cpu_ns[1] = 0;
	counts_read(s, true);
	counts_cut(c);
	assert_true(c->cut);
	for (int i = 0; i < 2; i++) /* two threads may be the last */
		counts_add_used(s, p, SECOND + SECOND / 50);
	assert_float_equal(c->all, 3.0 * (SECOND + SECOND / 50), 1);
	assert_float_equal(ratio_unseen(&c->ratio, c->all), 3.0 * (SECOND + SECOND / 100), 1);
}

/* It could not be read when the window closed, but later: it has not ended. */
static void one_that_goes_on_is_not_cut(void **state)
{
	struct counts *s = *state;
	add_counting();
	run(s, 1, 3);
	struct proc_count *c = counts_of(s, (struct proc_id){ 1 }, false);
	counts_read(s, false);
	fake.program[1] = 0;
	counts_read(s, true);
	counts_cut(c);
	fake.program[1] = 1;
	counts_update(s, false);
	assert_false(c->cut);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_from_before_counts_from_the_first_look),
		TEST(one_that_began_here_counts_whole),
		TEST(a_command_counts_whole),
		TEST(a_child_has_its_parent_s_bytes),
		TEST(a_new_program_begins_where_the_old_one_ended),
		TEST(a_pause_does_not_count),
		TEST(counters_are_looked_for_less_and_less),
		TEST(one_that_has_ended_is_forgotten_when_live),
		TEST(one_that_has_ended_is_kept_for_a_trace),
		TEST(what_no_window_met_is_missed),
		TEST(one_that_ends_has_counted_on_as_before),
		TEST(the_end_is_not_added_twice),
		TEST(what_was_read_before_the_end_changes_nothing),
		TEST(the_window_that_cut_it_stands_for_itself),
		TEST(one_that_goes_on_is_not_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
