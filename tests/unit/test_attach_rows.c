/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: each file gets its unwind rows once, each process its list of mappings, and how the kernel's own walk
 * ended is explained. Files, processes and the tables in the kernel are mocks (tests/tests.mk wraps them).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stack_ends.h"
#include "attach/unwind_rows.h"
#include "elf/elf.h"
#include "kernel/tables.h"
#include "probe/probe.h"
#include "target/target.h"
#include "unwind/unwind.h"

#define TGID 70u
#define FD 9

/* Of the files 1 and 2: what the kernel has, what was asked for. Both are mapped, with the second one twice. */
static struct {
	bool has[3];
	size_t put, empty, lists, mappings, asked, asked_now;
	int refusal; /* of the next table */
	bool gone;   /* no process maps the files any more */
	struct unwind_table *(*rows)(struct err *err);
	struct stack_ends *stack_ends;
} world;

struct tables *__wrap_probe_tables(struct probe *p);
struct tables *__wrap_probe_tables(struct probe *p)
{
	(void)p;
	return NULL;
}

int __wrap_tables_put(struct tables *t, uint64_t file, const struct unwind_table *rows, struct err *err);
int __wrap_tables_put(struct tables *t, uint64_t file, const struct unwind_table *rows, struct err *err)
{
	(void)t;
	if (rows && world.refusal)
		return err_set(err, world.refusal, "no room");
	world.has[file] = true;
	world.put += rows != NULL;
	world.empty += !rows;
	return 0;
}

bool __wrap_tables_has(const struct tables *t, uint64_t file);
bool __wrap_tables_has(const struct tables *t, uint64_t file)
{
	(void)t;
	return world.has[file];
}

int __wrap_tables_put_mappings(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n, struct err *err);
int __wrap_tables_put_mappings(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n, struct err *err)
{
	(void)t, (void)err;
	assert_int_equal(tgid, TGID);
	assert_int_equal(list[n - 1].file, 2);
	world.lists++;
	world.mappings = n;
	return 0;
}

static const struct mapping mapped[] = {
	{ .id = { 1 }, .proc = { 1 }, .module = { 1 }, .start = 0x1000, .end = 0x2000 },
	{ .id = { 2 }, .proc = { 1 }, .module = { 2 }, .start = 0x3000, .end = 0x4000 },
	{ .id = { 3 }, .proc = { 1 }, .module = { 2 }, .start = 0x5000, .end = 0x6000 },
};

const struct mapping *__wrap_target_mapping(const struct target_table *t, struct proc_id id, size_t i);
const struct mapping *__wrap_target_mapping(const struct target_table *t, struct proc_id id, size_t i)
{
	(void)t, (void)id;
	return i < sizeof(mapped) / sizeof(*mapped) ? &mapped[i] : NULL;
}

int __wrap_target_module_fd(const struct target_table *t, struct module_id id);
int __wrap_target_module_fd(const struct target_table *t, struct module_id id)
{
	(void)t, (void)id;
	return world.gone ? -1 : FD;
}

struct proc_id __wrap_target_find(const struct target_table *t, uint32_t tgid);
struct proc_id __wrap_target_find(const struct target_table *t, uint32_t tgid)
{
	(void)t;
	return (struct proc_id){ tgid == TGID };
}

void __wrap_study_file(struct study *s, const struct module *m, int fd, uint32_t parts);
void __wrap_study_file(struct study *s, const struct module *m, int fd, uint32_t parts)
{
	(void)s, (void)m;
	assert_int_equal(fd, FD);
	assert_int_equal(parts, FINDINGS_ROWS);
	world.asked++;
}

void __wrap_study_now(struct study *s, const struct module *m, int fd, uint32_t parts);
void __wrap_study_now(struct study *s, const struct module *m, int fd, uint32_t parts)
{
	struct findings f = { .module = m->id, .asked = parts };
	(void)s, (void)fd;
	world.asked_now++;
	f.rows.table = world.rows ? world.rows(&f.rows.err) : NULL;
	stack_ends_found(world.stack_ends, &f);
	assert_null(f.rows.table);
}

struct scene {
	struct handles h;
	struct record_options o;
	struct rows rows;
	struct stack_ends stack_ends;
};

static int set_up(void **state)
{
	static const struct record_options o = RECORD_DEFAULTS;
	struct scene *s = calloc(1, sizeof(*s));
	memset(&world, 0, sizeof(world));
	s->o = o;
	s->h = (struct handles){ .o = &s->o, .catalog = catalog_new() };
	s->rows.h = s->stack_ends.h = &s->h;
	world.stack_ends = &s->stack_ends;
	catalog_put_proc(s->h.catalog, &(struct proc){ .id = { 1 }, .tgid = TGID, .comm = "a", .exe = "/a" });
	catalog_put_module(s->h.catalog, &(struct module){ .id = { 1 }, .path = "/one" });
	catalog_put_module(s->h.catalog, &(struct module){ .id = { 2 }, .path = "/two" });
	for (size_t i = 0; i < sizeof(mapped) / sizeof(*mapped); i++)
		catalog_put_mapping(s->h.catalog, &mapped[i]);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	rows_free(&s->rows);
	stack_ends_free(&s->stack_ends);
	catalog_free(s->h.catalog);
	free(s);
	return 0;
}

static const struct module *file(struct scene *s, uint32_t n)
{
	return catalog_module(s->h.catalog, (struct module_id){ n });
}

static const struct proc *process(struct scene *s)
{
	return catalog_proc(s->h.catalog, (struct proc_id){ 1 });
}

static void answer(struct scene *s, uint32_t module, int refusal, int failed)
{
	struct findings f = { .module = { module }, .asked = FINDINGS_ROWS };
	struct err err;
	if (failed)
		err_set(&f.failed, failed, "it cannot be read");
	else if (refusal)
		err_set(&f.rows.err, refusal, "none");
	else
		f.rows.table = unwind_compile_vdso(&err);
	rows_found(&s->rows, &f);
	assert_null(f.rows.table);
}

static void each_file_is_asked_for_once(void **state)
{
	struct scene *s = *state;
	rows_map(&s->rows, process(s));
	assert_int_equal(world.asked, 2);
	assert_int_equal(world.lists, 1);
	assert_int_equal(world.mappings, 3);
	/* The answer is not there yet. */
	rows_map(&s->rows, process(s));
	assert_int_equal(world.asked, 2);
	answer(s, 1, 0, 0);
	answer(s, 2, 0, 0);
	assert_int_equal(world.put, 2);
	rows_map(&s->rows, process(s));
	assert_int_equal(world.asked, 2);
}

static void who_walks_otherwise_asks_for_none(void **state)
{
	struct scene *s = *state;
	s->o.walk = ALYS_WALK_KERNEL;
	rows_map(&s->rows, process(s));
	assert_int_equal(rows_wanted(&s->rows, file(s, 1)), 0);
	s->o.walk = ALYS_WALK_SLEEP;
	s->o.backtrace = BACKTRACE_NONE;
	rows_map(&s->rows, process(s));
	assert_int_equal(world.asked + world.lists, 0);
}

static void files_without_rows_are_counted_by_reason(void **state)
{
	static const struct {
		int rows, failed;
		enum rowless reason;
	} cases[] = {
		{ ENODATA, 0, ROWLESS_NO_EH_FRAME },
		{ ENOTSUP, 0, ROWLESS_DEBUG_FRAME },
		{ EBADMSG, 0, ROWLESS_DAMAGED },
		{ ENOMEM, 0, ROWLESS_OTHER },
		/* The reader was killed, which says nothing about .eh_frame. */
		{ 0, EBADMSG, ROWLESS_OTHER },
	};
	struct scene *s = *state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t before = s->rows.without[cases[i].reason];
		world.has[1] = false;
		assert_int_equal(rows_wanted(&s->rows, file(s, 1)), FINDINGS_ROWS);
		answer(s, 1, cases[i].rows, cases[i].failed);
		assert_int_equal(s->rows.without[cases[i].reason], before + 1);
		/* No file is tried or counted twice. */
		answer(s, 1, cases[i].rows, cases[i].failed);
		assert_int_equal(s->rows.without[cases[i].reason], before + 1);
		assert_int_equal(rows_wanted(&s->rows, file(s, 1)), 0);
	}
	assert_int_equal(world.put, 0);
	assert_int_equal(world.empty, sizeof(cases) / sizeof(*cases));
}

static void rows_that_find_no_room_are_none(void **state)
{
	struct scene *s = *state;
	world.refusal = ENOSPC;
	assert_int_equal(rows_wanted(&s->rows, file(s, 1)), FINDINGS_ROWS);
	answer(s, 1, 0, 0);
	assert_int_equal(s->rows.without[ROWLESS_OTHER], 1);
	assert_int_equal(world.empty, 1);
}

/* A process has one list of all its mappings: many new files at once cost one new list. */
static void lists_are_made_anew_together(void **state)
{
	struct scene *s = *state;
	rows_look(&s->rows, false, 1);
	assert_int_equal(world.lists, 0);
	world.has[1] = world.has[2] = true;
	rows_list(&s->rows);
	uint64_t listed = s->rows.listed_ns;
	rows_note(&s->rows, (struct module_id){ 1 });
	rows_look(&s->rows, true, listed + 1);
	assert_int_equal(world.lists, 0);
	rows_note(&s->rows, (struct module_id){ 2 });
	rows_look(&s->rows, true, listed + 1000000000);
	assert_int_equal(world.lists, 1);
	rows_look(&s->rows, false, listed + 2000000000);
	assert_int_equal(world.lists, 1);
	/* A file that no process maps is in no list. */
	rows_note(&s->rows, (struct module_id){ 3 });
	rows_look(&s->rows, false, listed + 3000000000);
	assert_int_equal(world.lists, 1);
}

/* --- the kernel's own walk ----------------------------------------------------------------------- */

extern char _start[], __executable_start[];

/* Of this program, which begins at _start. */
static struct unwind_table *own_rows(struct err *err)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf *e = elf_open(fd, "self", err);
	struct unwind_table *rows = e ? unwind_compile(e, err) : NULL;
	elf_close(e);
	close(fd);
	return rows;
}

static uint8_t end_of(struct scene *s, uint64_t rel, uint32_t n)
{
	static struct frame frames[1000];
	frames[n - 1] = (struct frame){ .map = { 1 }, .rel = rel };
	const struct intake_stack stack = { .n = n, .end = STACK_END_UNKNOWN };
	return stack_ends_of(&s->stack_ends, &stack, frames);
}

static void a_stack_that_ends_where_programs_begin_is_complete(void **state)
{
	struct scene *s = *state;
	uint64_t start = (uint64_t)(_start - __executable_start);
	uint64_t here = (uint64_t)((char *)own_rows - __executable_start);
	s->o.walk = ALYS_WALK_KERNEL;
	s->stack_ends.kernel_depth = 127;
	world.rows = own_rows;
	assert_int_equal(end_of(s, start + 16, 5), STACK_END_COMPLETE);
	assert_int_equal(end_of(s, here + 16, 5), STACK_END_NO_FRAME_POINTER);
	assert_int_equal(end_of(s, here + 16, 128), STACK_END_TRUNCATED);
	/* Its rows were asked for once. */
	assert_int_equal(world.asked_now, 1);
}

static void without_rows_no_bottom_is_known(void **state)
{
	struct scene *s = *state;
	s->o.walk = ALYS_WALK_KERNEL;
	s->stack_ends.kernel_depth = 127;
	assert_int_equal(end_of(s, 16, 5), STACK_END_NO_FRAME_POINTER);
	assert_int_equal(end_of(s, 16, 5), STACK_END_NO_FRAME_POINTER);
	assert_int_equal(world.asked_now, 1);
	world.gone = true;
	stack_ends_free(&s->stack_ends);
	assert_int_equal(end_of(s, 16, 5), STACK_END_NO_FRAME_POINTER);
	assert_int_equal(world.asked_now, 1);
}

static void other_walks_say_themselves_how_they_ended(void **state)
{
	struct scene *s = *state;
	const struct intake_stack none = { .end = STACK_END_UNKNOWN };
	assert_int_equal(end_of(s, 16, 5), STACK_END_UNKNOWN);
	s->o.walk = ALYS_WALK_KERNEL;
	assert_int_equal(stack_ends_of(&s->stack_ends, &none, NULL), STACK_END_UNKNOWN);
	assert_int_equal(world.asked_now, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_file_is_asked_for_once),
		TEST(who_walks_otherwise_asks_for_none),
		TEST(files_without_rows_are_counted_by_reason),
		TEST(rows_that_find_no_room_are_none),
		TEST(lists_are_made_anew_together),
		TEST(a_stack_that_ends_where_programs_begin_is_complete),
		TEST(without_rows_no_bottom_is_known),
		TEST(other_walks_say_themselves_how_they_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
