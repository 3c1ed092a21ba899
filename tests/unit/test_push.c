/* Unit tests of push: what is sent, byte by byte, and what the queue drops when nobody takes it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "push/parcel.h"

static void check_body(enum push_kind kind, const char *comm, const char *bytes, size_t n, const char *expected)
{
	struct parcel_who who = { .pid = 7 };
	struct buf pprof = { 0 };
	strncpy(who.comm, comm, sizeof(who.comm) - 1);
	buf_add(&pprof, bytes, n);
	struct parcel *p = parcel_new(kind, &who, &pprof);
	assert_non_null(p);
	assert_string_equal(buf_str(&p->body), expected);
	parcel_free(p);
	buf_free(&pprof);
}

#define PYROSCOPE(comm, data)                                                                      \
	"{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"memory\"},{\"name\":\"service_name\",\"value\":\"" comm \
	"\"},{\"name\":\"pid\",\"value\":\"7\"}],\"samples\":[{\"rawProfile\":\"" data "\"}]}]}"

static void test_bodies(void **state)
{
	(void)state;
	check_body(PUSH_PYROSCOPE, "shop", "", 0, PYROSCOPE("shop", ""));
	check_body(PUSH_PYROSCOPE, "shop", "\xff", 1, PYROSCOPE("shop", "/w=="));
	check_body(PUSH_PYROSCOPE, "shop", "\xfb\xef", 2, PYROSCOPE("shop", "++8="));
	check_body(PUSH_PYROSCOPE, "", "\0\x10\x83", 3, PYROSCOPE("unknown", "ABCD"));
	check_body(PUSH_PYROSCOPE, "a\"\x1b", "Mann", 4, PYROSCOPE("a\\\"\\\\x1b", "TWFubg=="));
	check_body(PUSH_PARCA, "shop", "Man", 3,
		   "{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"memory\"},{\"name\":\"service_name\","
		   "\"value\":\"shop\"},{\"name\":\"pid\",\"value\":\"7\"}]},\"samples\":[{\"rawProfile\":\"TWFu\"}]}]}");
}

static struct parcel *parcel_of(size_t n)
{
	static const char zeros[3000];
	struct parcel_who who = { .pid = 7, .comm = "x" };
	struct buf b = { 0 };
	buf_add(&b, zeros, n);
	struct parcel *p = parcel_new(PUSH_PYROSCOPE, &who, &b);
	buf_free(&b);
	return p;
}

/* Nothing listens at port 1, so all that is offered waits or is dropped: law: offered = waiting + dropped. */
static void test_queue_is_bounded(void **state)
{
	struct push_options o = { .url = "http://127.0.0.1:1", .queue_max = 10000 };
	struct push_counts n;
	size_t waiting, bytes;
	struct err err;
	(void)state;
	log_set_level(LOG_QUIET);
	struct sender *s = sender_new(PUSH_PYROSCOPE, &o, &err);
	assert_non_null(s);
	for (int i = 0; i < 20; i++) {
		sender_offer(s, parcel_of(1500));
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
	static const char *const bad[] = { "", "x", "http://", "http://?", "http://h/?q", "http://h/#f", "ftp://h", "file:///etc/passwd",
					   "http://a b/", "HTTP//h", "https://h:99999999/" };
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct push_options o = { .url = bad[i] };
		err.code = 0;
		assert_null(sender_new(PUSH_PYROSCOPE, &o, &err));
		assert_int_equal(err.code, EINVAL);
	}
	struct push_options good = { .url = "https://user:secret@h:1/prefix/", .tenant = "t" };
	struct sender *s = sender_new(PUSH_PARCA, &good, &err);
	assert_non_null(s);
	sender_end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_queue_is_bounded),
		cmocka_unit_test(test_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
