/* SPDX-License-Identifier: Apache-2.0 */
/* http: parsing of requests, and pages of processes with hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "http/exchange.h"
#include "http/process_list.h"

static unsigned int parse(const char *uri, struct request *r)
{
	struct err err = { 0 };
	unsigned int status = request_parse(uri, r, &err);
	assert_int_equal(!status, !*err.text);
	return status;
}

static void test_routes(void **state)
{
	static const struct {
		const char *uri;
		enum route route;
	} known[] = {
		{ "/", ROUTE_PAGE },
		{ "/style.css", ROUTE_STYLE },
		{ "/report?pid=7", ROUTE_REPORT },
		{ "/debug/pprof/", ROUTE_INDEX },
		{ "/debug/pprof", ROUTE_INDEX },
		{ "/debug/pprof/heap", ROUTE_HEAP },
		{ "/debug/pprof/allocs", ROUTE_ALLOCS },
		{ "/debug/pprof/delta_heap", ROUTE_DELTA_HEAP },
		{ "/metrics", ROUTE_METRICS },
		{ "/sd?", ROUTE_SD },
		{ "/-/healthy?x", ROUTE_HEALTHY },
		{ "/-/ready?pid=x", ROUTE_READY },
	};
	static const char *const strange[] = { "",
					       "//",
					       "*",
					       "/metrics/",
					       "/METRICS",
					       "/debug/pprof/profile",
					       "/debug/pprof/cmdline",
					       "/%6detrics",
					       "http://localhost/metrics",
					       "/debug/pprof/../pprof/heap",
					       "/sd#x" };
	struct request r;
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(parse(known[i].uri, &r), 0);
		assert_int_equal(r.route, known[i].route);
	}
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		assert_int_equal(parse(strange[i], &r), 404);
}

static void test_parameters(void **state)
{
	static const char *const bad[] = {
		"pid=",
		"pid",
		"pid=0",
		"pid=-1",
		"pid=+1",
		"pid= 1",
		"pid=0x10",
		"pid=1.5",
		"pid=%31",
		"pid=2147483648",
		"pid=18446744073709551617",
		"pid=1&pid=2",
		"seconds=0",
		"seconds=301",
		"seconds=1e2",
		"seconds=x&seconds=5",
		"seconds=",
		"samples=",
		"samples=-1",
		"debug=1",
		"debug=x",
		"x=1&&debug=2",
	};
	char uri[128];
	struct request r;
	(void)state;
	assert_int_equal(parse("/debug/pprof/heap?pid=2147483647&seconds=300&samples=0&debug=0&gc=1&x&=&", &r), 0);
	assert_true(r.pid == 2147483647 && r.seconds == 300 && r.samples == 0);
	assert_int_equal(parse("/debug/pprof/allocs?seconds=14&pid=7&seconds=15&seconds=15", &r), 0);
	assert_true(r.pid == 7 && r.seconds == 14);
	assert_int_equal(parse("/debug/pprof/allocs?pids=4&xseconds=5", &r), 0);
	assert_true(!r.pid && !r.seconds && r.samples == REQUEST_SAMPLES);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(uri, sizeof(uri), "/debug/pprof/delta_heap?%s", bad[i]);
		assert_int_equal(parse(uri, &r), 400);
	}
	assert_int_equal(parse("/report", &r), 400);
	assert_int_equal(parse("/metrics?seconds=9999&pid=3", &r), 0);
	assert_int_equal(r.pid, 3);
}

static void test_hosts(void **state)
{
	static const char *const ours[] = { "localhost",   "LocalHost:80", "127.0.0.1",   "127.0.0.1:6060",
					    "127.9.8.7:1", "[::1]",        "[::1]:65535", "[0:0::1]:1" };
	static const char *const others[] = { "example.com",
					      "example.com:6060",
					      "localhost.example.com",
					      "127.0.0.1.example.com",
					      "10.0.0.1",
					      "0.0.0.0",
					      "[::]",
					      "[::ffff:10.0.0.1]",
					      "localhost." };
	static const char *const broken[] = {
		"",       ":80", "localhost:", "localhost:x", "localhost:65536", "localhost:80:80", "[::1",          "[::1]x",
		"[::1]:", "[]",  "local host", "localhost\t", "localhost/",      "user@localhost",  "localhost\x1b", "[",
		"]",      "[:]:"
	};
	char huge[600];
	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_true(request_host_ok(ours[i], false) && request_host_ok(ours[i], true));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(!request_host_ok(others[i], false) && request_host_ok(others[i], true));
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_false(request_host_ok(broken[i], false));
	memset(huge, 'a', sizeof(huge));
	huge[sizeof(huge) - 1] = 0;
	assert_false(request_host_ok(huge, true));
}

/* --- pages ------------------------------------------------------------------------------------- */

#define HOSTILE "<b>\x1b\"\\\n'"

static int each_process(void *ctx, int (*fn)(void *fn_ctx, const struct http_process *p), void *fn_ctx)
{
	static const double history[] = { 0, NAN, -5, INFINITY, 10 };
	size_t n = *(size_t *)ctx;
	struct http_process evil = { .pid = 66,
				     .comm = HOSTILE,
				     .exe = "/bin/</small><script>",
				     .live_bytes = 1e6,
				     .live_error = 20480,
				     .alloc_rate = NAN,
				     .lost = 2,
				     .lost_by = "ring<full 2",
				     .history = history,
				     .history_cnt = 5 };
	memset(evil.comm + 12, 'x', 4);
	int rc = fn(fn_ctx, &evil);
	for (size_t i = 0; !rc && i < n; i++) {
		char container[96];
		snprintf(container, sizeof(container), "container.id=%064zx,odd=a%%22%%0A%%FF", i);
		struct http_process p = { .pid = (uint32_t)(100 + i),
					  .comm = "crowd",
					  .attributes = container,
					  .build_id = i ? "c0ffee" : "",
					  .live_bytes = (double)i,
					  .live_below = i % 500 == 5 ? 3 << 20 : 0 };
		rc = fn(fn_ctx, &p);
	}
	return rc;
}

static int status(void *ctx, struct http_status *out)
{
	static const struct http_count counts[] = { { "hit", "malloc", "", 10 },
						    { "recorded", "alloc", "", 7 },
						    { "lost", "ring\"full\\", "the <ring> was full", 3 } };
	(void)ctx;
	*out = (struct http_status){ .on = true,
				     .notice = "<i>" HOSTILE,
				     .counts = counts,
				     .counts_cnt = 3,
				     .overhead = 0.25,
				     .thinned = 2,
				     .refused_processes = 5,
				     .recording_s = 30,
				     .age_s = 40,
				     .windowed = true,
				     .covered = 0.5,
				     .keeps = true,
				     .profiles_written = 4,
				     .profiles_failed = 1,
				     .profiles_stored = 9,
				     .bytes_stored = 12345 };
	return 0;
}

static size_t times(const char *text, const char *what)
{
	size_t n = 0;
	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* A target's text is sent as printable text only. */
static void check_clean(struct buf *b)
{
	for (const char *c = buf_str(b); *c; c++)
		assert_true(*c == '\n' || (unsigned char)*c >= ' ');
}

static void test_page(void **state)
{
	size_t crowd = 600;
	struct http_source s = { .ctx = &crowd, .each_process = each_process, .status = status };
	struct buf b = { 0 };
	(void)state;
	assert_int_equal(page_write(&s, &(struct request){ 0 }, &b), 0);
	const char *text = buf_str(&b);
	check_clean(&b);
	assert_non_null(strstr(text, "&lt;b&gt;\\x1b&quot;\\\\x0a&#39;"));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<i>"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	assert_int_equal(times(text, "<tr><td>"), 500);
	assert_int_equal(times(text, "± 20.0 KiB"), 1);
	assert_int_equal(times(text, "±"), 1);
	assert_int_equal(times(text, "none sampled: below this with 95 % confidence\">&lt; 3.0 MiB<"), 1);
	assert_non_null(strstr(text, "and 101 more"));
	assert_non_null(strstr(text, "<b class=\"bad\">lost 3</b>"));
	assert_non_null(strstr(text, "<li>3 ring&quot;full\\<small>: the &lt;ring&gt; was full</small></li>"));
	assert_non_null(strstr(text, "<li>66 &lt;b&gt;"));
	assert_non_null(strstr(text, ": 2 <small>ring&lt;full 2</small></li>"));
	assert_non_null(strstr(text, "<li>1 of others, of processes that ended, or of nobody who is known</li>"));
	assert_int_equal(times(text, "title=\"ring&lt;full 2\">2</td>"), 1);
	/* The largest first. */
	assert_true(strstr(text, ">66</td>") < strstr(text, ">699</td>"));
	buf_reset(&b);
	/* The order is of all processes, not of those that are shown. */
	assert_int_equal(page_write(&s, &(struct request){ .sort = SORT_PID, .turned = true }, &b), 0);
	text = buf_str(&b);
	assert_true(strstr(text, ">699</td>") < strstr(text, ">698</td>"));
	assert_non_null(strstr(text, "id=\"pid\" aria-sort=\"descending\"><a href=\"/?sort=pid#pid\""));
	assert_int_equal(times(text, "aria-sort=\"none\""), 7);
	buf_free(&b);
}

/* Readers of metrics refuse a second one of the same name. */
static void check_each_name_once(const char *text)
{
	for (const char *at = strstr(text, "# TYPE "); at; at = strstr(at + 1, "# TYPE ")) {
		char head[128];
		snprintf(head, sizeof(head), "%.*s ", (int)(strlen("# TYPE ") + strcspn(at + strlen("# TYPE "), " ")), at);
		if (times(text, head) != 1)
			fail_msg("%sis there %zu times", head, times(text, head));
	}
}

static void test_metrics(void **state)
{
	size_t crowd = 300;
	struct http_source s = { .ctx = &crowd, .each_process = each_process, .status = status };
	struct http h = { .source = &s, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct buf all = { 0 }, one = { 0 }, none = { 0 };
	(void)state;
	assert_int_equal(metrics_write(&h, 0, &all), 0);
	check_clean(&all);
	assert_non_null(strstr(buf_str(&all), "alys_events_lost_total{stage=\"ring\\\"full\\\\\"} 3\n"));
	assert_non_null(strstr(buf_str(&all), "comm=\"<b>\\\\x1b\\\"\\\\\\\\x0a'"));
	assert_int_equal(times(buf_str(&all), "\nalys_target_live_bytes{"), 100);
	assert_non_null(strstr(buf_str(&all), "\nalys_target_live_error_bytes{pid=\"66\""));
	assert_non_null(strstr(buf_str(&all), "\nalys_overhead_ratio 0.25\n"));
	assert_non_null(strstr(buf_str(&all), "\nalys_thinned_total 2\n"));
	assert_non_null(strstr(buf_str(&all), "\nalys_covered_ratio 0.5\n"));
	assert_non_null(strstr(buf_str(&all), "\nalys_recording_ratio 0.75\n"));
	check_each_name_once(buf_str(&all));
	assert_non_null(strstr(buf_str(&all), "\nalys_profiles_total{result=\"written\"} 4\n"));
	assert_non_null(strstr(buf_str(&all), "\nalys_profiles_total{result=\"failed\"} 1\n"));
	assert_non_null(strstr(buf_str(&all), "\nalys_profile_files_bytes 12345\n"));
	assert_non_null(strstr(buf_str(&all), "\nalys_refused_processes_total 5\n"));
	assert_int_equal(metrics_write(&h, 105, &one), 0);
	assert_int_equal(times(buf_str(&one), "pid=\"105\""), 8);
	assert_non_null(strstr(buf_str(&one), "\nalys_target_info{pid=\"105\",comm=\"crowd\",exe="));
	assert_non_null(strstr(buf_str(&one), "\nalys_target_live_below_bytes{pid=\"105\",comm=\"crowd\"} 3145728\n"));
	assert_null(strstr(buf_str(&one), "pid=\"66\""));
	assert_null(strstr(buf_str(&one), "alys_build_info"));
	assert_int_equal(metrics_write(&h, 7, &none), -ENOENT);
	buf_free(&all);
	buf_free(&one);
	buf_free(&none);
}

static void test_sd(void **state)
{
	size_t crowd = 1;
	struct http_source s = { .ctx = &crowd, .each_process = each_process };
	struct buf b = { 0 };
	(void)state;
	assert_int_equal(sd_write(&s, "[::1]:6060", &b), 0);
	check_clean(&b);
	assert_non_null(strstr(buf_str(&b), "\"targets\":[\"[::1]:6060\"]"));
	assert_non_null(strstr(buf_str(&b), "\"__param_pid\":\"100\"}}\n]"));
	assert_int_equal(times(buf_str(&b), "service_name"), 2);
	buf_free(&b);
}

/* As many series as there are processes to discover, and a fixed number in /metrics. */
static void test_thousands_of_containers(void **state)
{
	size_t crowd = 5000;
	struct http_source s = { .ctx = &crowd, .each_process = each_process, .status = status };
	struct http h = { .source = &s, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct buf targets = { 0 }, numbers = { 0 };
	(void)state;
	assert_int_equal(sd_write(&s, "localhost:6060", &targets), 0);
	check_clean(&targets);
	assert_int_equal(times(buf_str(&targets), "\"container_id\":\"0000"), 5000);
	assert_int_equal(times(buf_str(&targets), "\"odd\":\"a\\\"\\\\x0a\\\\xff\""), 5000);
	assert_int_equal(times(buf_str(&targets), "\"build_id\":\"c0ffee\""), 4999);
	assert_int_equal(metrics_write(&h, 0, &numbers), 0);
	check_clean(&numbers);
	assert_int_equal(times(buf_str(&numbers), "\nalys_target_info{"), 100);
	assert_int_equal(times(buf_str(&numbers), "container_id=\"0000"), 99);
	assert_int_equal(times(buf_str(&numbers), ",build_id=\"c0ffee\","), 99);
	buf_free(&targets);
	buf_free(&numbers);
}

/* --- addresses --------------------------------------------------------------------------------- */

static int try_listen(const char *address, bool insecure, struct http_listener *got)
{
	struct http_options o = { .listen = address, .insecure = insecure };
	struct err err = { 0 };
	int rc = http_listen(&o, got, &err);
	assert_true(!rc || (*err.text && err.code > 0 && got->fd == -1));
	return rc;
}

static void test_addresses(void **state)
{
	static const char *const bad[] = {
		"",       "x",     ":0",     "6060x",  "65536",           "-1",           "+5", " 5", "127.0.0.1", "127.0.0.1:",
		"host:1", "[::1]", "[::1:5", "::1:80", "127.0.0.1:80:80", "[127.0.0.1]:0"
	};
	struct http_listener got, again;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(try_listen(bad[i], true, &got), -EINVAL);
	assert_int_equal(try_listen("0.0.0.0:0", false, &got), -EINVAL);
	assert_int_equal(try_listen("[::]:0", false, &got), -EINVAL);
	assert_int_equal(try_listen("0.0.0.0:0", true, &got), 0);
	assert_true(!strncmp(got.address, "0.0.0.0:", 8));
	http_unlisten(&got);
	assert_int_equal(try_listen("0", false, &got), 0);
	assert_true(!strncmp(got.address, "127.0.0.1:", 10) && strcmp(got.address, "127.0.0.1:0"));
	assert_int_equal(try_listen(got.address, false, &again), -EADDRINUSE);
	http_unlisten(&got);
	assert_int_equal(try_listen("localhost:0", false, &got), 0);
	http_unlisten(&got);
}

static void test_local_addresses(void **state)
{
	char folder[] = "/tmp/alys-http-XXXXXX", path[64], file[64];
	struct http_listener got, again;
	struct stat st;
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/http", folder);
	snprintf(file, sizeof(file), "%s/file", folder);
	assert_int_equal(try_listen(path, false, &got), 0);
	assert_true(got.local && !strcmp(got.address, path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07, 0);
	assert_int_equal(try_listen(path, false, &again), -EADDRINUSE);
	/* Killed: its socket file does not prevent a new server. */
	http_listener_close(&got);
	assert_int_equal(try_listen(path, false, &again), 0);
	http_unlisten(&again);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(try_listen("/no/such/place", false, &got), -ENOENT);
	assert_int_equal(mknod(file, S_IFREG | 0600, 0), 0);
	assert_int_equal(try_listen(file, false, &got), -EEXIST);
	unlink(file);
	rmdir(folder);
}

/* --- heads ------------------------------------------------------------------------------------- */

/* The status to refuse with, 0 or, when the head is whole, 1. */
static unsigned int head(const char *bytes, size_t n)
{
	struct err err = { 0 };
	bool whole;
	unsigned int status = request_head(bytes, n, &whole, &err);
	assert_int_equal(!status, !*err.text);
	return status ? status : whole;
}

static void test_heads(void **state)
{
	static const struct {
		const char *text;
		unsigned int status;
	} heads[] = {
		{ "", 0 },
		{ "GET / HTTP/1.1\r\n", 0 },
		{ "GET / HTTP/1.1\r\n\r", 0 },
		{ "GET / HTTP/1.1\r\n\r\n", 1 },
		{ "GET / HTTP/1.1\n\n", 1 },
		{ "GET / HTTP/1.1\r\rx", 1 },
		{ "GET / HTTP/1.1\r\na: b\r\n\r\nbody", 1 },
		{ "\r\n\r\nGET /", 400 },
		{ "\n", 400 },
		{ "\r", 400 },
	};
	char huge[REQUEST_HEAD_MAX];
	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		assert_int_equal(head(heads[i].text, strlen(heads[i].text)), heads[i].status);
	memset(huge, 'a', sizeof(huge));
	assert_int_equal(head(huge, sizeof(huge) - 1), 0);
	assert_int_equal(head(huge, sizeof(huge)), 414);
	huge[10] = '\n';
	assert_int_equal(head(huge, sizeof(huge)), 431);
	memset(huge, '&', sizeof(huge));
	assert_int_equal(head(huge, REQUEST_PARTS_MAX), 0);
	assert_int_equal(head(huge, REQUEST_PARTS_MAX + 1), 414);
	for (size_t i = 0; i < sizeof(huge); i++)
		huge[i] = i % 2 ? '\n' : 'a';
	assert_int_equal(head(huge, 2 * REQUEST_LINES_MAX), 0);
	assert_int_equal(head(huge, 2 * REQUEST_LINES_MAX + 2), 431);
	/* Bytes after the head do not count. */
	memset(huge, '&', sizeof(huge));
	memcpy(huge, "GET / HTTP/1.1\r\n\r\n", 18);
	assert_int_equal(head(huge, sizeof(huge)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_sd),
		cmocka_unit_test(test_thousands_of_containers),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_local_addresses),
		cmocka_unit_test(test_heads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
