/* SPDX-License-Identifier: Apache-2.0 */
/* sink/top_rows: limits of rows, and that the sums include what was cut off. */
#include "unit/sink_recordings.h"

static int collect_feed(void *ctx, const void *bytes, size_t n)
{
	buf_add(ctx, bytes, n);
	return 0;
}

static size_t lines_with(struct buf *b, const char *start)
{
	size_t n = 0;
	for (const char *at = buf_str(b); *at; at = strchrnul(at, '\n'), at += *at == '\n')
		n += !strncmp(at, start, strlen(start));
	return n;
}

/* Of a column of the stacks; the word is column 0. */
static uint64_t sum_of(struct buf *b, int column)
{
	uint64_t sum = 0;
	for (const char *at = buf_str(b); *at; at = strchrnul(at, '\n'), at += *at == '\n') {
		const char *field = at;
		for (int i = 0; i < column && field; i++)
			field = strchr(field + (i > 0), '\t');
		if (field && !strncmp(at, "stack\t", 6))
			sum += strtoull(field + 1, NULL, 10);
	}
	return sum;
}

static void the_heaviest_rows_stay(void **state)
{
	struct recording r = record_shop();
	struct buf all = { 0 }, one = { 0 };
	(void)state;
	for (size_t top = 0; top < 2; top++) {
		const struct sink_options o = { .top = top };
		struct sink_out out = { collect_feed, top ? &one : &all };
		struct sink_input in = { .catalog = r.c, .snapshot = r.s, .options = &o };
		assert_int_equal(sink_find("feed")->render(&in, &out, NULL), 0);
	}
	assert_true(lines_with(&all, "stack\t") > 2);
	assert_int_equal(lines_with(&one, "stack\t"), 2);
	assert_int_equal(lines_with(&one, "frame\t[other]\t"), 1);
	assert_int_equal(lines_with(&all, "frame\t[other]\t"), 0);
	/* Nothing is missing. */
	for (int column = 2; column <= 5; column++)
		assert_true(sum_of(&all, column) == sum_of(&one, column));
	/* The process as a whole is the same line. */
	char *process = strstr(buf_str(&all), "process\t");
	assert_non_null(process);
	char *end = strchr(process, '\n');
	assert_non_null(memmem(one.data, one.len, process, (size_t)(end - process)));
	assert_int_equal(lines_with(&one, "end"), 1);
	buf_free(&all);
	buf_free(&one);
	forget(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_heaviest_rows_stay) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
