/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http: the daemon's pages, metrics and profiles over HTTP. In: an address and a source (source.h). Out: answers to GET
 * and HEAD. It changes no state, stores no data, and does not record.
 *
 *   /debug/pprof/ heap allocs delta_heap   ?pid=N ?seconds=N   as in Go programs
 *   /metrics /sd                           Prometheus
 *   /  /report?pid=N                       pages for people
 *   /-/healthy /-/ready
 *
 * A Unix socket for one group, or a port on loopback; more only on request: whoever can connect can read the stacks of
 * all traced processes. A web page in a local browser can connect to a port, too, hence the rules on Host and Origin.
 */
#ifndef ALYS_HTTP_H
#define ALYS_HTTP_H

#include <stdint.h>

#include "http/peer.h"
#include "http/source.h"

struct http;

struct http_options {
	const char *listen; /* "/PATH", "PORT", "127.0.0.1:PORT", "[::1]:PORT" or "localhost:PORT"; port 0 = any free one */
	bool insecure;      /* other addresses, too, and any Host */
	void (*metrics)(void *ctx, struct buf *out); /* appended to /metrics, e.g. push_metrics; NULL = none */
	void *metrics_ctx;
};

/* A listening socket, and what identifies its clients: open it while privileged. */
struct http_listener {
	int fd;
	bool local; /* a unix socket, at the path `address` */
	struct peer_tables peers;
	char address[112]; /* in use: "127.0.0.1:6060", "/run/alys-bpf/http" */
};

#define HTTP_LISTENER_NONE                        \
	{                                         \
		.fd = -1, .peers = { { -1, -1 } } \
	}

/* 0, or -errno and err: -EADDRINUSE and -EINVAL (address) among them. */
int http_listen(const struct http_options *o, struct http_listener *out, struct err *err);
/* Closes our copy; copies in other processes keep listening. */
void http_listener_close(struct http_listener *l);
/* Closes it, and removes it from the file system. */
void http_unlisten(struct http_listener *l);

/*
 * Starts the one thread that talks to clients, with all signals blocked. Call it after dropping privileges. `source`
 * and `l` are borrowed until http_close. NULL: err says why.
 */
struct http *http_open(const struct http_options *o, const struct http_listener *l, const struct http_source *source,
		       struct err *err);
/* Readable when http_serve_pending must be called. Poll it, do not read it. */
int http_fd(const struct http *h);
/* Answers pending requests from the source; does not block. On the thread that owns the source. */
void http_serve_pending(struct http *h);
/*
 * A process ends, and the source can provide its profile for the last time: pending requests for it are answered now.
 * why: a word, "exit". On the thread that owns the source.
 */
void http_process_ends(struct http *h, uint32_t pid, const char *why);
/* Drops pending answers: http_deferred_done may still be called and does nothing. */
void http_close(struct http *h);

#endif
