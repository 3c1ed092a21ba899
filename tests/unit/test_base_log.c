/* SPDX-License-Identifier: Apache-2.0 */
/* base/log: a reader that stalls costs lines, which are counted, but no time. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

/* A pipe in place of stderr. */
struct heard {
	int before, end;
	char text[65536];
};

static void begin(struct heard *h)
{
	int ends[2];
	h->before = dup(STDERR_FILENO);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	h->end = ends[0];
	/* One page; the alarm ends the test if the log blocks. */
	assert_true(fcntl(h->end, F_SETPIPE_SZ, 4096) >= 4096);
	alarm(60);
}

static void read_all(struct heard *h)
{
	ssize_t n = read(h->end, h->text, sizeof(h->text) - 1);
	assert_true(n > 0);
	h->text[n] = 0;
}

static void end(struct heard *h)
{
	alarm(0);
	dup2(h->before, STDERR_FILENO);
	close(h->before);
	if (h->end >= 0)
		close(h->end);
}

static void test_reader_stalls(void **state)
{
	struct heard h;
	(void)state;
	log_never_wait();
	begin(&h);
	uint64_t before = log_lost();
	int said = 0;
	for (; log_lost() < before + 3 && said < 10000; said++)
		log_err("line %d", said);
	int kept = said - 3;
	read_all(&h);
	log_err("after all");
	char *first = strstr(h.text, "alys-bpf: line 0\n");
	assert_ptr_equal(first, h.text);
	assert_true(kept > 0);
	assert_null(strstr(h.text, "lost"));
	read_all(&h);
	end(&h);
	assert_string_equal(h.text, "alys-bpf: 3 lines before this one were lost: nobody read them\nalys-bpf: after all\n");
	assert_int_equal(log_lost(), before + 3);
}

/* All of it is of bytes that are written as four. */
static void test_long_line(void **state)
{
	struct heard h;
	char bytes[5000];
	(void)state;
	memset(bytes, 1, sizeof(bytes) - 1);
	bytes[sizeof(bytes) - 1] = 0;
	log_never_wait();
	begin(&h);
	uint64_t before = log_lost();
	log_err("%s", bytes);
	read_all(&h);
	end(&h);
	assert_int_equal(log_lost(), before);
	assert_true(strlen(h.text) > 3000 && strlen(h.text) <= 4096);
	assert_int_equal(h.text[strlen(h.text) - 1], '\n');
}

static void test_reader_is_gone(void **state)
{
	struct heard h;
	(void)state;
	log_never_wait();
	begin(&h);
	uint64_t before = log_lost();
	close(h.end);
	h.end = -1;
	log_err("to nobody");
	end(&h);
	assert_int_equal(log_lost(), before + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_stalls),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_reader_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
