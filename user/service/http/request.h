/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/request: what a request line and a Host header ask for; nothing else of a request is read.
 * Pure functions over a client's bytes. Not for other modules.
 */
#ifndef ALYS_HTTP_REQUEST_H
#define ALYS_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define REQUEST_SECONDS_MAX 300
/* What Pyroscope takes in one profile. */
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

/* The columns of the list of processes, by which it can be sorted: /?sort=rss, the other way round /?sort=-rss. */
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
	uint32_t pid;     /* 0 = none given */
	uint32_t seconds; /* 0 = none given */
	uint32_t samples; /* most stacks of a profile, 0 = all */
};

/* The head of a request as a whole; lines of it; what separates parameters and cookies in it. */
#define REQUEST_HEAD_MAX 8192
#define REQUEST_LINES_MAX 100
#define REQUEST_PARTS_MAX 256

/*
 * What has come of a request so far: 0, and `whole` says whether its head is complete; or the HTTP status to refuse with
 * and a sentence in err. Ends of lines are what libmicrohttpd takes for them, so that both see the same head.
 */
unsigned int request_head(const char *bytes, size_t n, bool *whole, struct err *err);
const char *request_sort_name(enum request_sort s);
/* A path of this server, with its query. 0, or the HTTP status to refuse with and a sentence in err. */
unsigned int request_parse(const char *uri, struct request *out, struct err *err);
/*
 * Whether a Host header names this machine's loopback, literally: a page of another site whose name
 * was made to point here ("DNS rebinding") sends its own name. `any`: every well-formed host will do.
 */
bool request_host_ok(const char *host, bool any);

#endif
