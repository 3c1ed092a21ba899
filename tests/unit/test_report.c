/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: all options over scripted recordings (see lib/feed.h), byte by byte against tests/golden/report
 * (GOLDEN_UPDATE=1 writes them), and messages about wrong options.
 */
#include <errno.h>
#include <limits.h>

#include "lib/feed.h"

#include <cmocka.h>

#include "report/report.h"

#define DIR "tests/golden/report/"
/* Options: others have the verb's defaults. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define STANDARD .by = BY_STANDARD, .show = SHOW_STANDARD, .sort = SORT_STANDARD, .top = REPORT_TOP_STANDARD
#define OPTIONS(...)                                         \
	{                                                    \
		STANDARD, .depth = REPORT_DEPTH, __VA_ARGS__ \
	}

static void read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	size_t n;
	if (!f)
		fail_msg("no %s: GOLDEN_UPDATE=1 makes goldens", path);
	while ((n = fread(buf_room(out, 65536), 1, 65536, f)) > 0)
		out->len += n;
	fclose(f);
}

static void compare_golden(const char *name, struct buf *now)
{
	char path[PATH_MAX];
	struct buf want = { 0 };
	snprintf(path, sizeof(path), DIR "%s", name);
	if (getenv("GOLDEN_UPDATE")) {
		FILE *f = fopen(path, "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(now->data, 1, now->len, f), now->len);
		fclose(f);
	}
	read_file(path, &want);
	if (want.len != now->len || (now->len && memcmp(want.data, now->data, now->len)))
		fail_msg("%s differs from what is written now:\n%s", path, buf_str(now));
	buf_free(&want);
}

static int collect(void *ctx, const void *bytes, size_t n)
{
	buf_add(ctx, bytes, n);
	return 0;
}

static int hear(void *ctx, const struct event *e)
{
	return heap_apply(ctx, e, NULL);
}

struct scene {
	struct catalog *c;
	struct snapshot *s;
};

static struct scene play(const char *script, unsigned int needs)
{
	char path[PATH_MAX];
	struct buf text = { 0 };
	struct scene scene = { .c = catalog_new() };
	struct heap *h = heap_new();
	assert_true(scene.c && h);
	heap_watch(h, needs);
	snprintf(path, sizeof(path), DIR "%s.feed", script);
	read_file(path, &text);
	feed_run(buf_str(&text), scene.c, hear, h);
	scene.s = heap_snapshot(h);
	assert_non_null(scene.s);
	heap_free(h);
	buf_free(&text);
	return scene;
}

static void forget(struct scene *s)
{
	catalog_free(s->c);
	snapshot_free(s->s);
}

static int render(const char *script, const struct report_options *o, struct buf *out, struct err *err)
{
	struct scene s = play(script, report_needs(o));
	struct report_input in = { .catalog = s.c, .snapshot = s.s, .start_ns = FEED_START_NS };
	struct sink_out to = { collect, out };
	int rc = report_render(&in, o, &to, err);
	forget(&s);
	return rc;
}

struct question {
	const char *golden, *script;
	struct report_options o;
};

static const struct question questions[] = {
	/* The tables of the older tools. */
	{ "memprof.md", "crystal", OPTIONS(.by = BY_STACK, .show = SHOW_LIVE, .format = FORMAT_MARKDOWN) },
	{ "memprof.tsv", "crystal", OPTIONS(.by = BY_STACK, .show = SHOW_LIVE, .format = FORMAT_TSV) },
	{ "memprof-min-bytes.tsv", "crystal",
	  OPTIONS(.by = BY_STACK, .show = SHOW_LIVE, .format = FORMAT_TSV, .min_bytes = 100) },
	{ "memprof-depth-skip.tsv",
	  "crystal",
	  { STANDARD, .by = BY_STACK, .show = SHOW_LIVE, .format = FORMAT_TSV, .depth = 2, .skip = { .frames = 1 } } },
	{ "counts.tsv", "crystal", OPTIONS(.by = BY_TYPE, .format = FORMAT_TSV, .columns = "count,type") },
	{ "sizes.tsv", "crystal", OPTIONS(.by = BY_TYPE, .format = FORMAT_TSV, .columns = "bytes,type") },
	{ "tally.txt", "crystal",
	  OPTIONS(.by = BY_TYPE, .show = SHOW_ALLOC, .sort = SORT_COUNT, .ascending = true, .format = FORMAT_TALLY) },
	{ "callstacks.txt", "crystal", { STANDARD, .type = "Crystal::SpinLock", .depth = 3 } },
	{ "callstacks-min-count.txt", "crystal", { STANDARD, .type = "Crystal::SpinLock", .depth = 2, .min_count = 2 } },
	{ "functions.txt", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .ascending = true) },
	{ "functions-inclusive.txt", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .inclusive = true) },
	{ "calls.txt", "calls", OPTIONS(.by = BY_FUNCTION) },
	{ "calls-inclusive.json", "calls", OPTIONS(.by = BY_FUNCTION, .inclusive = true, .format = FORMAT_JSON) },
	{ "calls-count.tally", "calls", OPTIONS(.by = BY_FUNCTION, .sort = SORT_COUNT, .format = FORMAT_TALLY) },
	{ "calls-pid.csv", "calls", OPTIONS(.by = BY_FUNCTION, .pid = 101, .format = FORMAT_CSV) },
	{ "calls-callers.tsv", "calls", OPTIONS(.callers = "walk(int)", .show = SHOW_ALLOC, .format = FORMAT_TSV) },
	{ "callers.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .callers = "serve()") },
	{ "callees.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .callees = "serve()") },
	{ "callers-recursive.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .callers = "walk(int)") },
	{ "callees-leaf.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .callees = "walk(int)") },
	/* Every way to group, every kind of block. */
	{ "standard.txt", "cpp", OPTIONS() },
	{ "stack.txt", "cpp", OPTIONS(.by = BY_STACK) },
	{ "stack-whole.txt", "cpp", { STANDARD, .by = BY_STACK } },
	{ "file.txt", "cpp", OPTIONS(.by = BY_FILE) },
	{ "library.txt", "cpp", OPTIONS(.by = BY_LIBRARY) },
	{ "type.txt", "cpp", OPTIONS(.by = BY_TYPE, .show = SHOW_ALLOC) },
	{ "size.txt", "cpp", OPTIONS(.by = BY_SIZE, .show = SHOW_ALLOC) },
	{ "size-by-name.txt", "cpp", OPTIONS(.by = BY_SIZE, .show = SHOW_ALLOC, .sort = SORT_NAME) },
	{ "thread.txt", "cpp", OPTIONS(.by = BY_THREAD, .show = SHOW_ALLOC) },
	{ "erlang-process.txt", "erlang", OPTIONS(.by = BY_ERLANG_PROCESS) },
	{ "erlang-process.json", "erlang", OPTIONS(.by = BY_ERLANG_PROCESS, .format = FORMAT_JSON) },
	{ "erlang-process-focus.txt", "erlang", OPTIONS(.by = BY_ERLANG_PROCESS, .focus = "small") },
	{ "erlang-process-malloc.txt", "erlang-malloc", OPTIONS(.by = BY_ERLANG_PROCESS, .show = SHOW_ALLOC) },
	{ "process.txt", "cpp", OPTIONS(.by = BY_PROCESS) },
	{ "time.txt", "cpp", OPTIONS(.by = BY_TIME, .top = 8) },
	{ "time.tsv", "cpp", OPTIONS(.by = BY_TIME, .top = 8, .format = FORMAT_TSV) },
	{ "alloc.txt", "cpp", OPTIONS(.show = SHOW_ALLOC) },
	{ "peak.txt", "cpp", OPTIONS(.show = SHOW_PEAK) },
	{ "temporary.txt", "cpp", OPTIONS(.show = SHOW_TEMPORARY) },
	{ "leaked.txt", "cpp", OPTIONS(.show = SHOW_LEAKED) },
	{ "leaked-by-size.txt", "cpp", OPTIONS(.show = SHOW_LEAKED, .sort = SORT_SIZE, .by = BY_FUNCTION) },
	{ "leaked-none.txt", "shrinking", OPTIONS(.show = SHOW_LEAKED) },
	{ "leaked.json", "cpp", OPTIONS(.show = SHOW_LEAKED, .format = FORMAT_JSON) },
	{ "ties.md", "ties", OPTIONS(.by = BY_STACK, .format = FORMAT_MARKDOWN) },
	/* Which rows. */
	{ "focus.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .focus = "^serve") },
	{ "ignore.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .ignore = "session\\.cc|libblob") },
	{ "top.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .top = 2, .ascending = true) },
	{ "pid.txt", "cpp", OPTIONS(.show = SHOW_ALLOC, .pid = 101) },
	{ "allocator.txt", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .keep_allocator_frames = true) },
	/* Every format. */
	{ "functions.md", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .format = FORMAT_MARKDOWN) },
	{ "functions.tsv", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .format = FORMAT_TSV) },
	{ "functions.csv", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .format = FORMAT_CSV) },
	{ "functions.json", "cpp", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .format = FORMAT_JSON) },
	{ "stack.csv", "cpp", OPTIONS(.by = BY_STACK, .format = FORMAT_CSV) },
	{ "stack.json", "cpp", OPTIONS(.by = BY_STACK, .format = FORMAT_JSON) },
	{ "sampled.txt", "sampled", OPTIONS() },
	{ "large.txt", "large", OPTIONS(.show = SHOW_TEMPORARY) },
	{ "large.json", "large", OPTIONS(.show = SHOW_TEMPORARY, .format = FORMAT_JSON) },
	{ "sampled-peak.txt", "sampled", OPTIONS(.show = SHOW_PEAK) },
	{ "sampled-leaked.json", "sampled", OPTIONS(.show = SHOW_LEAKED, .format = FORMAT_JSON) },
	{ "sampled-freed.txt", "sampled", OPTIONS(.show = SHOW_FREED) },
	{ "sampled-time.txt", "sampled", OPTIONS(.by = BY_TIME, .top = 4) },
	{ "sampled-callstacks.txt", "sampled", OPTIONS(.type = "[no type]") },
	{ "sampled.json", "sampled", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC, .format = FORMAT_JSON) },
	{ "hostile.txt", "hostile", OPTIONS() },
	{ "hostile.md", "hostile", OPTIONS(.by = BY_STACK, .format = FORMAT_MARKDOWN) },
	{ "hostile.tsv", "hostile", OPTIONS(.by = BY_PROCESS, .format = FORMAT_TSV) },
	{ "hostile.csv", "hostile", OPTIONS(.by = BY_FUNCTION, .format = FORMAT_CSV) },
	{ "hostile.json", "hostile", OPTIONS(.by = BY_STACK, .format = FORMAT_JSON) },
	{ "nostacks.txt", "nostacks", OPTIONS(.by = BY_SIZE) },
	{ "freed.txt", "freed", OPTIONS(.show = SHOW_ALLOC) },
};

/* Each way to group and each kind of block in each format, one golden a format. */
static void test_every_report_in_every_format(void **state)
{
	static const char *const goldens[] = { "every.txt", "every.md", "every.tsv", "every.json", "every.csv", "every.tally" };
	static const char *const bys[] = { "stack",  "site",           "function", "file",    "library",   "type", "size",
					   "thread", "erlang-process", "process",  "service", "container", "time" };
	static const char *const shows[] = { "live", "alloc", "peak", "temporary", "leaked", "freed" };
	(void)state;
	for (uint32_t format = FORMAT_TEXT; format <= FORMAT_TALLY; format++) {
		struct buf out = { 0 };
		for (uint32_t i = 0; i <= BY_TIME * SHOW_STANDARD; i++) {
			struct report_options o =
				OPTIONS(.by = i / SHOW_STANDARD, .show = i % SHOW_STANDARD, .format = format, .top = 3);
			struct err err = { 0 };
			if (o.by == BY_ERLANG_PROCESS)
				continue; /* no recording of those has one */
			if (o.by == BY_TIME)
				o.show = SHOW_STANDARD;
			buf_addf(&out, "== --by %s --show %s\n", bys[o.by], shows[i % SHOW_STANDARD]);
			if (o.by == BY_TIME && format == FORMAT_TALLY)
				assert_int_equal(render("cpp", &o, &out, &err), -EINVAL);
			else if (render("cpp", &o, &out, &err))
				fail_msg("%s", err.text);
		}
		compare_golden(goldens[format], &out);
		buf_free(&out);
	}
}

static void test_goldens(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		const struct question *q = &questions[i];
		struct buf out = { 0 };
		struct err err = { 0 };
		if (render(q->script, &q->o, &out, &err))
			fail_msg("%s: %s", q->golden, err.text);
		compare_golden(q->golden, &out);
		buf_free(&out);
	}
}

struct refusal {
	const char *script;
	struct report_options o;
	int code;
	const char *words;
};

static const struct refusal refusals[] = {
	{ "crystal", OPTIONS(.type = "Fooo"), ENOENT, "no allocation is of type \"Fooo\"" },
	{ "cpp", OPTIONS(.callers = "nobody"), ENOENT, "no stack has a function \"nobody\"" },
	{ "cpp", OPTIONS(.callees = "nobody"), ENOENT, "no stack has a function \"nobody\"" },
	{ "cpp", OPTIONS(.focus = "(("), EINVAL, "--focus \"((\" is no regular expression" },
	{ "cpp", OPTIONS(.ignore = "[z"), EINVAL, "--ignore \"[z\" is no regular expression" },
	{ "cpp", OPTIONS(.focus = "nothing of that name"), ENOENT, "no stack passes --focus and --ignore" },
	{ "cpp", OPTIONS(.by = BY_ERLANG_PROCESS), ENOENT, "no heap of an Erlang process is in the trace" },
	{ "cpp", OPTIONS(.pid = 4), ENOENT, "process 4 has no allocation in the trace" },
	{ "cpp", OPTIONS(.columns = "count,colour"), EINVAL, "no column \"colour\"; it has count, bytes, percent, site" },
	{ "cpp", OPTIONS(.columns = "count,count,count,count,count"), EINVAL, "names a column twice" },
	{ "cpp", OPTIONS(.callers = "a", .callees = "b"), EINVAL, "exclude each other" },
	{ "cpp", OPTIONS(.by = BY_FILE, .inclusive = true), EINVAL, "are for --by function" },
	{ "cpp", OPTIONS(.by = BY_TIME, .focus = "x"), EINVAL, "about the whole heap" },
	{ "cpp", OPTIONS(.by = BY_TIME, .sort = SORT_NAME), EINVAL, "in order of time" },
	{ "cpp", OPTIONS(.by = BY_TIME, .ascending = true), EINVAL, "in order of time" },
	{ "cpp", OPTIONS(.by = BY_TIME, .format = FORMAT_TALLY), EINVAL, "tally" },
	{ "cpp", OPTIONS(.sort = SORT_GROWTH), EINVAL, "--sort growth is for --show leaked" },
	{ "nostacks", OPTIONS(.by = BY_STACK), ENOENT, "the trace has no call stacks" },
	{ "nostacks", OPTIONS(), ENOENT, "the trace has no call stacks" },
	{ "freed", OPTIONS(), ENODATA, "nothing is live" },
	{ "freed", OPTIONS(.show = SHOW_LEAKED), ENODATA, "nothing leaked" },
	{ "hostile", OPTIONS(.show = SHOW_FREED), ENODATA, "no block was freed" },
	{ "freed", OPTIONS(.focus = "."), ENODATA, "nothing is live" },
	{ "later", OPTIONS(.show = SHOW_TEMPORARY), ENODATA, "no allocation was temporary" },
	{ "sampled", OPTIONS(.show = SHOW_TEMPORARY), EINVAL, "cannot be recognized in samples" },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct buf out = { 0 };
		struct err err = { 0 };
		int rc = render(refusals[i].script, &refusals[i].o, &out, &err);
		if (rc != -refusals[i].code || !strstr(err.text, refusals[i].words))
			fail_msg("case %zu: %d \"%s\", not \"%s\"", i, rc, err.text, refusals[i].words);
		if (strchr(err.text, '\n') || out.len)
			fail_msg("case %zu: not one sentence", i);
		buf_free(&out);
	}
}

static const struct question differences[] = {
	{ "diff.txt", "later", OPTIONS(.by = BY_FUNCTION) },
	{ "diff-alloc.txt", "later", OPTIONS(.by = BY_FUNCTION, .show = SHOW_ALLOC) },
	{ "diff-stack.txt", "later", OPTIONS(.by = BY_STACK, .show = SHOW_ALLOC, .top = 3) },
	{ "diff.md", "later", OPTIONS(.by = BY_FUNCTION, .format = FORMAT_MARKDOWN) },
	{ "diff.tsv", "later", OPTIONS(.by = BY_FUNCTION, .format = FORMAT_TSV) },
	{ "diff.csv", "later", OPTIONS(.by = BY_FUNCTION, .format = FORMAT_CSV) },
	{ "diff.tally", "later", OPTIONS(.by = BY_FUNCTION, .format = FORMAT_TALLY, .columns = "function,change_bytes") },
	{ "diff.json", "later", OPTIONS(.by = BY_FUNCTION, .show = SHOW_PEAK, .format = FORMAT_JSON) },
	{ "diff-freed.txt", "freed", OPTIONS(.by = BY_FUNCTION) },
	{ "diff-sampled.txt", "sampled", OPTIONS(.by = BY_FUNCTION) },
	{ "diff-same.txt", "cpp", OPTIONS(.by = BY_FUNCTION) },
};

static int compare(const char *after, const struct report_options *o, struct buf *out, struct err *err)
{
	struct scene a = play("cpp", report_needs(o)), b = play(after, report_needs(o));
	struct report_input before = { .catalog = a.c, .snapshot = a.s, .start_ns = FEED_START_NS },
			    now = { .catalog = b.c, .snapshot = b.s, .start_ns = FEED_START_NS };
	struct sink_out to = { collect, out };
	int rc = report_diff(&before, &now, o, &to, err);
	forget(&a);
	forget(&b);
	return rc;
}

static void test_differences(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
		const struct question *q = &differences[i];
		struct buf out = { 0 };
		struct err err = { 0 };
		if (compare(q->script, &q->o, &out, &err))
			fail_msg("%s: %s", q->golden, err.text);
		compare_golden(q->golden, &out);
		buf_free(&out);
	}
}

static void test_difference_refusals(void **state)
{
	const struct report_options by_thread = OPTIONS(.by = BY_THREAD), leaked = OPTIONS(.show = SHOW_LEAKED),
				    stackless = OPTIONS(.by = BY_FUNCTION);
	struct buf out = { 0 };
	struct err err = { 0 };
	(void)state;
	assert_int_equal(compare("later", &by_thread, &out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--by thread"));
	assert_int_equal(compare("later", &leaked, &out, &err), -EINVAL);
	assert_int_equal(compare("nostacks", &stackless, &out, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no call stacks"));
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

/* As many rows as there are slices, at most as many as requested. */
static void test_rows_of_time(void **state)
{
	struct report_options o = OPTIONS(.by = BY_TIME, .format = FORMAT_TSV);
	struct scene s = play("cpp", report_needs(&o));
	uint64_t n = s.s->timeline.n, tops[] = { REPORT_TOP_STANDARD, 0, n + 1, n, n - 1, 1 };
	struct report_input in = { .catalog = s.c, .snapshot = s.s, .start_ns = FEED_START_NS };
	(void)state;
	assert_true(n > 2);
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		struct buf out = { 0 };
		struct sink_out to = { collect, &out };
		struct err err = { 0 };
		o.top = tops[i];
		assert_int_equal(report_render(&in, &o, &to, &err), 0);
		assert_int_equal(strtoull(buf_str(&out), NULL, 10), tops[i] == n - 1 ? (n + 1) / 2 : tops[i] == 1 ? 1 : n);
		buf_free(&out);
	}
	forget(&s);
}

/* A recording of nothing at all, and of blocks of no size. */
static void test_nothing(void **state)
{
	const struct report_options o = OPTIONS(.show = SHOW_ALLOC), times = OPTIONS(.by = BY_TIME);
	struct buf out = { 0 };
	struct err err = { 0 };
	struct heap *h = heap_new();
	struct scene s = { catalog_new(), heap_snapshot(h) };
	struct report_input in = { .catalog = s.c, .snapshot = s.s, .start_ns = 0 };
	struct sink_out to = { collect, &out };
	(void)state;
	assert_int_equal(report_render(&in, &o, &to, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no allocation in the trace"));
	assert_int_equal(report_render(&in, &times, &to, &err), -ENOENT);
	snapshot_free(s.s);
	assert_int_equal(heap_apply(h, &(struct event){ .kind = EVENT_ALLOC, .addr = 1, .stack = { 9 } }, NULL), 0);
	in.snapshot = s.s = heap_snapshot(h);
	assert_int_equal(report_render(&in, &o, &to, &err), 0);
	assert_non_null(strstr(buf_str(&out), "[lost]"));
	heap_free(h);
	forget(&s);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_every_report_in_every_format),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_difference_refusals),
		cmocka_unit_test(test_rows_of_time),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
