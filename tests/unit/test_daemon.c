/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/protocol: what a user types, what is sent over the socket, and what is refused. */
#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/protocol.h"

static void round_trip(const char *const *words, size_t n, const struct request *want)
{
	struct request typed, read;
	struct buf bytes = { 0 };
	struct err err = { 0 };
	assert_int_equal(request_of_words(&typed, n, words, &err), 0);
	request_write(&typed, &bytes);
	assert_int_equal(request_read(&read, bytes.data, bytes.len, &err), 0);
	assert_int_equal(read.verb, want->verb);
	assert_int_equal(read.pid, want->pid);
	assert_int_equal(read.interval, want->interval);
	assert_string_equal(read.format, want->format);
	buf_free(&bytes);
}

static void every_verb_goes_through(void **state)
{
	(void)state;
	round_trip((const char *[]){ "status" }, 1, &(struct request){ .verb = REQUEST_STATUS });
	round_trip((const char *[]){ "on" }, 1, &(struct request){ .verb = REQUEST_ON });
	round_trip((const char *[]){ "off" }, 1, &(struct request){ .verb = REQUEST_OFF });
	round_trip((const char *[]){ "add", "12" }, 2, &(struct request){ .verb = REQUEST_ADD, .pid = 12 });
	round_trip((const char *[]){ "remove", "2147483647" }, 2, &(struct request){ .verb = REQUEST_REMOVE, .pid = 2147483647 });
	round_trip((const char *[]){ "sample", "bytes:512k" }, 2,
		   &(struct request){ .verb = REQUEST_SAMPLE, .interval = 512 << 10 });
	round_trip((const char *[]){ "snapshot" }, 1, &(struct request){ .verb = REQUEST_SNAPSHOT });
	round_trip((const char *[]){ "snapshot", "all", "html" }, 3,
		   &(struct request){ .verb = REQUEST_SNAPSHOT, .format = "html" });
	round_trip((const char *[]){ "snapshot", "7", "folded-stacks" }, 3,
		   &(struct request){ .verb = REQUEST_SNAPSHOT, .pid = 7, .format = "folded-stacks" });
	round_trip((const char *[]){ "rotate" }, 1, &(struct request){ .verb = REQUEST_ROTATE });
	round_trip((const char *[]){ "stop" }, 1, &(struct request){ .verb = REQUEST_STOP });
}

static void wrong_words_are_refused(void **state)
{
	static const char *const wrong[][3] = {
		{ "" },
		{ "fly" },
		{ "add" },
		{ "add", "0" },
		{ "add", "-1" },
		{ "add", "1x" },
		{ "add", "2147483648" },
		{ "status", "1" },
		{ "sample", "bytes:" },
		{ "sample", "bytes:-1" },
		{ "sample", "bytes:1kk" },
		{ "sample", "bytes:2048G" },
		{ "sample", "512k" },
		{ "snapshot", "all", "../etc" },
		{ "snapshot", "x" },
		{ "snapshot", "1", "a-format-with-a-name-that-is-too-long" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct request r;
		struct err err = { 0 };
		size_t n = 0;
		while (n < 3 && wrong[i][n])
			n++;
		assert_int_equal(request_of_words(&r, n, wrong[i], &err), -EINVAL);
		assert_true(err.text[0]);
	}
}

static void cut_and_foreign_messages_are_refused(void **state)
{
	static const char whole[] = "A\1add\00012";
	struct request r;
	struct err err;
	(void)state;
	assert_int_equal(request_read(&r, whole, sizeof(whole), &err), 0);
	for (size_t n = 0; n < sizeof(whole); n++) {
		if (n != 2 && n != 6) /* whole messages of too few words */
			assert_int_equal(request_read(&r, whole, n, &err), -EPROTO);
	}
	assert_int_equal(request_read(&r, "A\2add", 6, &err), -EPROTO);
	assert_int_equal(request_read(&r, "B\1add", 6, &err), -EPROTO);
	assert_int_equal(request_read(&r, "A\1a\0b\0c\0d\0e", 12, &err), -EPROTO);
}

static void answers_go_through(void **state)
{
	struct buf bytes = { 0 };
	struct err err;
	const char *text;
	(void)state;
	answer_write(&bytes, 3, "no such process");
	assert_int_equal(answer_read(bytes.data, bytes.len, &text, &err), 3);
	assert_string_equal(text, "no such process");
	for (size_t n = 0; n < bytes.len; n++)
		assert_int_equal(answer_read(bytes.data, n, &text, &err), -EPROTO);
	buf_free(&bytes);
}

static void long_answers_are_cut_to_a_packet(void **state)
{
	static char text[3 * PROTOCOL_MAX];
	struct buf bytes = { 0 };
	struct err err;
	const char *back;
	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	answer_write(&bytes, 0, text);
	assert_true(bytes.len <= PROTOCOL_MAX);
	assert_int_equal(answer_read(bytes.data, bytes.len, &back, &err), 0);
	assert_int_equal(strlen(back), PROTOCOL_MAX - 4);
	buf_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb_goes_through),
		cmocka_unit_test(wrong_words_are_refused),
		cmocka_unit_test(cut_and_foreign_messages_are_refused),
		cmocka_unit_test(answers_go_through),
		cmocka_unit_test(long_answers_are_cut_to_a_packet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
