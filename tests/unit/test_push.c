/* SPDX-License-Identifier: Apache-2.0 */
/* push: what is sent, byte by byte, and what the queue drops while the server does not answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "push/credentials.h"
#include "push/otlp_response.h"
#include "push/response.h"
#include "push/sender.h"

static void check_body(enum push_kind kind, const char *comm, const char *bytes, size_t n, const char *expected,
		       size_t expected_sz)
{
	struct payload_who who = { .pid = 7 };
	struct buf pprof = { 0 };
	strncpy(who.comm, comm, sizeof(who.comm) - 1);
	buf_add(&pprof, bytes, n);
	struct payload *p = payload_new(kind, &who, &pprof);
	assert_non_null(p);
	assert_int_equal(p->body.len, expected_sz);
	assert_memory_equal(p->body.data, expected, expected_sz);
	payload_free(p);
	buf_free(&pprof);
}

#define PYROSCOPE(comm, data)                                                                                                 \
	"{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"memory\"},{\"name\":\"service_name\",\"value\":\"" comm \
	"\"},{\"name\":\"pid\",\"value\":\"7\"},{\"name\":\"__delta__\",\"value\":\"false\"}],\"samples\":[{\"rawProfile\":"  \
	"\"" data "\"}]}]}"

static void check_json(const char *comm, const char *bytes, size_t n, const char *expected)
{
	check_body(PUSH_PYROSCOPE, comm, bytes, n, expected, strlen(expected));
}

static void test_bodies(void **state)
{
	(void)state;
	check_json("shop", "", 0, PYROSCOPE("shop", ""));
	check_json("shop", "\xff", 1, PYROSCOPE("shop", "/w=="));
	check_json("shop", "\xfb\xef", 2, PYROSCOPE("shop", "++8="));
	check_json("", "\0\x10\x83", 3, PYROSCOPE("unknown", "ABCD"));
	check_json("a\"\x1b", "Mann", 4, PYROSCOPE("a\\\"\\\\x1b", "TWFubg=="));
	check_json("\xc3\xff", "Man", 3, PYROSCOPE("\\\\xc3\\\\xff", "TWFu"));
}

/* The numbers are lengths: of everything that follows, of the series, of its labels, of each label. */
#define PARCA_LABELS(comm_field_sz, comm)                                                  \
	"\x0a\x12\x0a\x08__name__\x12\x06memory"                                           \
	"\x0a" comm_field_sz "\x0a\x0cservice_name\x12" comm "\x0a\x08\x0a\x03pid\x12\x01" \
	"7"

static void test_messages(void **state)
{
	static const char small[] = "\0\0\0\0\x40\x12\x3e\x0a\x34" PARCA_LABELS("\x14", "\x04shop") "\x12\x06\x0a\x04M\0n\n";
	static const char hostile[] = "\0\0\0\0\x3f\x12\x3d\x0a\x35" PARCA_LABELS("\x15", "\x05x\\x1b") "\x12\x04\x0a\x02"
													"ab";
	static const char head[] =
		"\0\0\0\x01\x6b\x12\xe8\x02\x0a\x34" PARCA_LABELS("\x14", "\x04shop") "\x12\xaf\x02\x0a\xac\x02";
	char large[sizeof(head) - 1 + 300];
	(void)state;
	check_body(PUSH_PARCA, "shop", "M\0n\n", 4, small, sizeof(small) - 1);
	check_body(PUSH_PARCA, "x\x1b", "ab", 2, hostile, sizeof(hostile) - 1);
	memset(large, 'z', sizeof(large));
	memcpy(large, head, sizeof(head) - 1);
	check_body(PUSH_PARCA, "shop", large + sizeof(head) - 1, 300, large, sizeof(large));
}

/* Pyroscope takes 30 labels of a series. */
static void test_labels_are_bounded(void **state)
{
	struct payload_who who = { .pid = 7, .comm = "x", .exe = "/bin/x", .build_id = "c0ffee" };
	struct buf pprof = { 0 };
	size_t n = 0;
	(void)state;
	for (char c = 'a'; c <= 'z'; c++)
		snprintf(who.attributes + strlen(who.attributes), 16, "%s%c=%%00,%c%c=1", *who.attributes ? "," : "", c, c, c);
	struct payload *p = payload_new(PUSH_PYROSCOPE, &who, &pprof);
	assert_non_null(p);
	buf_u8(&p->body, '\0');
	for (const char *at = (const char *)p->body.data; (at = strstr(at, "{\"name\":")); at++)
		n++;
	assert_int_equal(n, 30);
	assert_non_null(
		strstr((const char *)p->body.data, "\"exe\",\"value\":\"/bin/x\"},{\"name\":\"build_id\",\"value\":\"c0ffee\"}"));
	payload_free(p);
}

static struct payload *payload_of(size_t n)
{
	static const char zeros[3000];
	struct payload_who who = { .pid = 7, .comm = "x" };
	struct buf b = { 0 };
	buf_add(&b, zeros, n);
	struct payload *p = payload_new(PUSH_PYROSCOPE, &who, &b);
	buf_free(&b);
	return p;
}

/* Nothing listens at port 1, so everything waits or is dropped: offered = waiting + dropped. */
static void test_queue_is_bounded(void **state)
{
	struct push_options o = { .url = "http://127.0.0.1:1", .queue_max = 10000 };
	struct push_counts n;
	size_t waiting, bytes;
	struct err err;
	(void)state;
	log_set_level(LOG_QUIET);
	struct sender *s = sender_new(&o, &err);
	assert_non_null(s);
	for (int i = 0; i < 20; i++) {
		sender_offer(s, payload_of(1500));
		sender_counts(s, &n, &waiting, &bytes);
		assert_true(bytes <= o.queue_max || waiting <= 1);
		assert_int_equal(waiting + n.overflowed, i + 1);
	}
	assert_true(waiting > 0 && n.overflowed > 10 && !n.sent && !n.refused);
	sender_note_failed(s);
	sender_counts(s, &n, &waiting, &bytes);
	assert_int_equal(n.failed, 1);
	sender_end(s);
}

static void test_addresses(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "http://",
					   "http://?",
					   "http://h/?q",
					   "http://h/#f",
					   "ftp://h",
					   "file:///etc/passwd",
					   "http://a b/",
					   "HTTP//h",
					   "https://h:99999999/",
					   "otlp+ftp://h",
					   "otlp+grpc://",
					   "https://user:secret@h:1/" };
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct push_options o = { .url = bad[i] };
		err.code = 0;
		assert_null(sender_new(&o, &err));
		assert_int_equal(err.code, EINVAL);
	}
	struct push_options good = { .url = "parca+https://h:1/prefix/", .tenant = "t" };
	struct sender *s = sender_new(&good, &err);
	assert_non_null(s);
	sender_end(s);
}

static void test_otlp_responses(void **state)
{
	/* Status { 8, "x", RetryInfo of 5 s }, as gRPC sends it, without padding. */
	static const char base64[] = "CAgSAXgaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIBQ";
	struct otlp_failure f = { 0 };
	struct buf text = { 0 };
	uint64_t rejected = 0;
	(void)state;
	assert_int_equal(otlp_response_partial("\x0a\x07\x08\x02\x12\x03why", 9, &rejected, &text), 0);
	assert_int_equal(rejected, 2);
	assert_string_equal(buf_str(&text), "why");
	assert_int_equal(otlp_response_partial("", 0, &rejected, &text), 0);
	assert_int_equal(otlp_response_partial("\x0a\x07\x08", 3, &rejected, &text), -1);
	/* A negative number is no count. */
	assert_int_equal(otlp_response_partial("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, &rejected, &text), 0);
	assert_int_equal(rejected, 0);
	assert_int_equal(otlp_response_failure_base64(base64, &f), 0);
	assert_true(f.recovers);
	assert_int_equal(f.wait_ms, 5000);
	/* A day is shortened. */
	assert_int_equal(
		otlp_response_failure_base64("CAgSAXgaMgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIGCgQIgKMF", &f),
		0);
	assert_int_equal(f.wait_ms, RETRY_WAIT_MAX_S * 1000);
	f = (struct otlp_failure){ 0 };
	assert_int_equal(otlp_response_failure_base64("CAgSAXg=", &f), 0);
	assert_false(f.recovers);
	assert_int_equal(otlp_response_failure_base64("%%%%", &f), 0);
	assert_int_equal(otlp_response_failure_base64("EgV4", &f), -1);
	buf_free(&text);
}

/* Servers repeat what they were sent as it is, as JSON or percent-encoded. */
static void test_secrets_in_any_spelling(void **state)
{
	static const char *const texts[][2] = {
		{ "who is a\"b%\xc3\xbc/c?", "who is [secret]?" }, { "{\"a\\\"b%\xc3\xbc/c\"}", "{\"[secret]\"}" },
		{ "a\\\"b\\u0025\\u00fc\\/c", "[secret]" },        { "a%22b%25%C3%bc%2Fc", "[secret]" },
		{ "a%22b%25%C3%bc%2F", "a%22b%25%C3%bc%2F" },      { "\\u00 \\ud800 \\ %2", "\\u00 \\ud800 \\ %2" },
	};
	char *secrets[] = { (char *)(uintptr_t) "a\"b%\xc3\xbc/c" };
	struct push_credentials c = { .secrets = secrets, .secrets_cnt = 1 };
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct buf out = { 0 };
		push_credentials_redact(&c, texts[i][0], &out);
		assert_string_equal(buf_str(&out), texts[i][1]);
		buf_free(&out);
	}
}

static void test_messages_of_grpc(void **state)
{
	char line[] = "grpc-message: caf%C3%A9 at 100%25, %zz\r\n";
	struct response r = { 0 };
	(void)state;
	assert_int_equal(response_on_header(line, 1, strlen(line), &r), strlen(line));
	assert_string_equal(buf_str(&r.message), "caf\xc3\xa9 at 100%, %zz");
	response_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_labels_are_bounded),
		cmocka_unit_test(test_queue_is_bounded),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_otlp_responses),
		cmocka_unit_test(test_secrets_in_any_spelling),
		cmocka_unit_test(test_messages_of_grpc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
