/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/request: parses the request line and the Host header; nothing else of a request is used. Pure functions over a
 * client's bytes. Private to this module.
 */
#ifndef ALYS_HTTP_REQUEST_H
#define ALYS_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define REQUEST_SECONDS_MAX 300
/* Pyroscope's limit for one profile. */
#define REQUEST_SAMPLES 16000
#define REQUEST_HOST_MAX 255

enum route {
	ROUTE_PAGE,
	ROUTE_STYLE,
	ROUTE_REPORT,
	ROUTE_INDEX,
	ROUTE_HEAP,
	ROUTE_ALLOCS,
	ROUTE_DELTA_HEAP,
	ROUTE_METRICS,
	ROUTE_SD,
	ROUTE_HEALTHY,
	ROUTE_READY,
};

/* Columns of the process list by which it can be sorted: /?sort=rss, reversed /?sort=-rss. */
#define REQUEST_SORTS(X)             \
	X(SORT_LIVE, "live")         \
	X(SORT_PROGRAM, "program")   \
	X(SORT_PID, "pid")           \
	X(SORT_RSS, "rss")           \
	X(SORT_RATE, "rate")         \
	X(SORT_SINCE, "since")       \
	X(SORT_RECORDED, "recorded") \
	X(SORT_LOST, "lost")

enum request_sort {
#define X(id, name) id,
	REQUEST_SORTS(X)
#undef X
};

struct request {
	enum route route;
	enum request_sort sort; /* of ROUTE_PAGE */
	bool turned;
	uint32_t pid;     /* 0 = none */
	uint32_t shown;   /* of a profile: see struct http_profile_request */
	uint32_t seconds; /* 0 = none */
	uint32_t samples; /* limit on the stacks of a profile, 0 = all */
};

/* Limits: size of the request head; its lines; separators of parameters and cookies. */
#define REQUEST_HEAD_MAX 8192
#define REQUEST_LINES_MAX 100
#define REQUEST_PARTS_MAX 256

/*
 * Checks an incomplete request: 0, and `whole` says whether its head is complete; or the HTTP status to refuse it with
 * and a message in err. Line ends are recognized as libmicrohttpd does, so that both see the same head.
 */
unsigned int request_head(const char *bytes, size_t n, bool *whole, struct err *err);
const char *request_sort_name(enum request_sort s);
/* A path of this server, with its query. 0, or the HTTP status to refuse it with and a message in err. */
unsigned int request_parse(const char *uri, struct request *out, struct err *err);
/*
 * Does a Host header name this machine's loopback, literally? A page of another site whose name resolves to this
 * machine ("DNS rebinding") sends its own name. `any`: accepts every well-formed host.
 */
bool request_host_ok(const char *host, bool any);

#endif
