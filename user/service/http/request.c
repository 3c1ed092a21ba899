/* SPDX-License-Identifier: Apache-2.0 */
/* http/request: see request.h. */
#include "http/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *path;
	enum route route;
	bool profile; /* takes seconds and samples */
	bool process; /* takes pid */
} routes[] = {
	{ "/", ROUTE_PAGE, false, false },
	{ "/style.css", ROUTE_STYLE, false, false },
	{ "/report", ROUTE_REPORT, false, true },
	{ "/debug/pprof/", ROUTE_INDEX, false, false },
	{ "/debug/pprof", ROUTE_INDEX, false, false },
	{ "/debug/pprof/heap", ROUTE_HEAP, true, true },
	{ "/debug/pprof/allocs", ROUTE_ALLOCS, true, true },
	{ "/debug/pprof/delta_heap", ROUTE_DELTA_HEAP, true, true },
	{ "/metrics", ROUTE_METRICS, false, true },
	{ "/sd", ROUTE_SD, false, false },
	{ "/-/healthy", ROUTE_HEALTHY, false, false },
	{ "/-/ready", ROUTE_READY, false, false },
};

struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static bool span_number(struct span s, uint32_t max, uint32_t *out)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9' || n > max)
			return false;
		n = n * 10 + (uint64_t)(s.at[i] - '0');
	}
	*out = (uint32_t)n;
	return s.len && n <= max;
}

static unsigned int refuse(struct err *err, unsigned int status, const char *text)
{
	err_set(err, EINVAL, "%s", text);
	return status;
}

static size_t count_parts(const char *bytes, size_t n)
{
	size_t parts = 0;
	for (size_t i = 0; i < n; i++)
		parts += bytes[i] == '&' || bytes[i] == ';';
	return parts;
}

/* Length of CR LF, CR or LF at this position; 0 if there is none, or a CR is last and LF may follow. */
static size_t end_of_line(const char *at, size_t n)
{
	if (!n || (*at != '\r' && *at != '\n'))
		return 0;
	if (*at == '\r' && n < 2)
		return 0;
	return *at == '\r' && at[1] == '\n' ? 2 : 1;
}

unsigned int request_head(const char *bytes, size_t n, bool *whole, struct err *err)
{
	size_t lines = 0, line = 0, at = 0, end;
	*whole = false;
	if (n && (*bytes == '\r' || *bytes == '\n'))
		return refuse(err, 400, "a request begins with its method");
	for (; at < n && !*whole; at += end ? end : 1) {
		end = end_of_line(bytes + at, n - at);
		if (end) {
			*whole = at == line;
			line = at + end;
			lines++;
		}
	}
	if (count_parts(bytes, at) > REQUEST_PARTS_MAX)
		return refuse(err, lines ? 431 : 414, "a request has at most 256 parameters and cookies here");
	if (lines > REQUEST_LINES_MAX)
		return refuse(err, 431, "a request has at most 100 headers here");
	if (!*whole && n >= REQUEST_HEAD_MAX)
		return refuse(err, lines ? 431 : 414, "the head of a request has at most 8192 bytes here");
	return 0;
}

static unsigned int find_route(struct span path, size_t *out, struct err *err)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (span_is(path, routes[i].path)) {
			*out = i;
			return 0;
		}
	}
	/* The default path of `go tool pprof http://HOST`. */
	if (span_is(path, "/debug/pprof/profile"))
		return refuse(err, 404, "there is no CPU profile here: the heap's is at /debug/pprof/heap");
	return refuse(err, 404, "there is no such page: / lists the processes, /debug/pprof/ the profiles");
}

static const char *const sorts[] = {
#define X(id, name) name,
	REQUEST_SORTS(X)
#undef X
};

const char *request_sort_name(enum request_sort s)
{
	return sorts[s];
}

static unsigned int take_sort(struct span value, struct request *out, struct err *err)
{
	out->turned = value.len && *value.at == '-';
	struct span name = { value.at + out->turned, value.len - out->turned };
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (!span_is(name, sorts[i]))
			continue;
		out->sort = (enum request_sort)i;
		return 0;
	}
	return refuse(err, 400,
		      "sort wants a column: live, program, pid, rss, rate, since, recorded or lost; -rss turns the order round");
}

/* Unknown parameters are ignored: scrapers add their own. */
static unsigned int take_parameter(size_t route, struct span key, struct span value, struct request *out, struct err *err)
{
	uint32_t n;
	if (routes[route].process && span_is(key, "pid")) {
		if (!span_number(value, INT_MAX, &n) || !n || out->pid)
			return refuse(err, 400, "pid wants one process number, such as pid=1234");
		out->pid = n;
	} else if (routes[route].route == ROUTE_PAGE && span_is(key, "sort")) {
		return take_sort(value, out, err);
	} else if (routes[route].profile && span_is(key, "seconds")) {
		/* Scrapers may append their own `seconds` to that of the URL; the first counts, as in Go. */
		if (out->seconds)
			return 0;
		if (!span_number(value, REQUEST_SECONDS_MAX, &n) || !n)
			return refuse(err, 400, "seconds wants one whole number from 1 to 300");
		out->seconds = n;
	} else if (routes[route].profile && span_is(key, "samples")) {
		if (!span_number(value, INT_MAX, &n))
			return refuse(err, 400, "samples wants the most stacks of a profile, 0 for all");
		out->samples = n;
	} else if ((routes[route].profile || routes[route].process) && span_is(key, "subject")) {
		out->shown = span_is(value, "allocations") ? 1 : span_is(value, "rss") ? 2 : span_is(value, "maps") ? 3 : 0;
		if (!out->shown)
			return refuse(err, 400, "subject wants allocations, rss or maps");
	} else if (routes[route].profile && span_is(key, "debug")) {
		if (!span_number(value, INT_MAX, &n) || n)
			return refuse(err, 400,
				      "only debug=0, pprof's own format, is served: `go tool pprof -traces URL` prints it");
	}
	return 0;
}

static unsigned int take_query(size_t route, const char *query, struct request *out, struct err *err)
{
	while (*query) {
		size_t len = strcspn(query, "&");
		const char *equal = memchr(query, '=', len);
		struct span key = { query, equal ? (size_t)(equal - query) : len };
		struct span value = { query + key.len + (equal ? 1 : 0), len - key.len - (equal ? 1 : 0) };
		unsigned int status = take_parameter(route, key, value, out, err);
		if (status)
			return status;
		query += len + (query[len] == '&');
	}
	return 0;
}

unsigned int request_parse(const char *uri, struct request *out, struct err *err)
{
	struct span path = { uri, strcspn(uri, "?") };
	size_t route;
	unsigned int status = find_route(path, &route, err);
	if (status)
		return status;
	*out = (struct request){ .route = routes[route].route, .samples = REQUEST_SAMPLES };
	const char *query = uri + path.len;
	status = take_query(route, *query == '?' ? query + 1 : query, out, err);
	if (!status && out->route == ROUTE_REPORT && !out->pid)
		return refuse(err, 400, "a report is of one process: /report?pid=1234");
	return status;
}

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	if (!strcasecmp(host, "localhost"))
		return true;
	return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

static bool is_loopback6(const char *host)
{
	struct in6_addr v6;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* Removes ":PORT"; false if it is not a valid port. */
static bool cut_port(char *host, char *colon)
{
	uint32_t port;
	if (!*colon)
		return true;
	if (*colon != ':' || !span_number((struct span){ colon + 1, strlen(colon + 1) }, 65535, &port))
		return false;
	*colon = 0;
	return *host;
}

bool request_host_ok(const char *host, bool any)
{
	char name[REQUEST_HOST_MAX + 1];
	size_t len = strlen(host);
	if (!len || len > REQUEST_HOST_MAX ||
	    strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]") != len)
		return false;
	memcpy(name, host, len + 1);
	if (*name == '[') {
		char *end = strchr(name, ']');
		if (!end || !cut_port(name, end + 1))
			return false;
		*end = 0;
		return any || is_loopback6(name + 1);
	}
	char *colon = name + strcspn(name, ":");
	return cut_port(name, colon) && *name && (any || is_loopback(name));
}
