/*
 * http: the daemon's pages, metrics and profiles over HTTP. In: an address and a source (source.h).
 * Out: answers to GET and HEAD. It changes no state, keeps no data, and does not record.
 *
 *   /debug/pprof/ heap allocs delta_heap   ?pid=N ?seconds=N   as a Go program has them
 *   /metrics /sd                           Prometheus
 *   /  /report?pid=N                       pages for people
 *   /-/healthy /-/ready
 *
 * Loopback only, unless told otherwise: whoever reaches the port can read the stacks of all traced
 * processes. A page in a browser of this machine reaches it too, hence the rules on Host and origin.
 */
#ifndef ALYS_HTTP_H
#define ALYS_HTTP_H

#include <stdint.h>

#include "http/source.h"

struct http;

struct http_options {
	const char *listen; /* "PORT", "127.0.0.1:PORT", "[::1]:PORT" or "localhost:PORT"; port 0 = any free one */
	bool insecure;      /* other addresses too, and any Host */
	void (*metrics)(void *ctx, struct buf *out); /* appended to /metrics, e.g. push_metrics; NULL = none */
	void *metrics_ctx;
};

/*
 * Listens, and starts the one thread that talks to clients; it has all signals blocked. Start it
 * after dropping privileges. `source` is borrowed until http_close. NULL: err says why, -EADDRINUSE
 * and -EINVAL (address) told apart by err->code.
 */
struct http *http_open(const struct http_options *o, const struct http_source *source, struct err *err);
/* Readable when http_serve_pending has something to do. To be polled, not read. */
int http_fd(const struct http *h);
/* Asks the source what clients want to know; does not block. On the thread that owns the source. */
void http_serve_pending(struct http *h);
/*
 * A process ends, and the source can give its profile for the last time: who waits for more of it is answered with what
 * there is. why: a word, "exit". On the thread that owns the source.
 */
void http_process_ends(struct http *h, uint32_t pid, const char *why);
/* The address in use, "127.0.0.1:6060". */
const char *http_address(const struct http *h);
/* Answers that are still to come are let go: their http_later_done stays allowed and does nothing. */
void http_close(struct http *h);

#endif
