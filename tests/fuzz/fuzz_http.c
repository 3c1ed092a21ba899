/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arbitrary request target, a newline and a Host header; and the same bytes as a request head that arrives byte by byte.
 * Accepted requests must respect the limits of request.h, and a host that passes the strict test must pass the lax one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *uri)
{
	struct request r;
	struct err err = { 0 };
	unsigned int status = request_parse(uri, &r, &err);
	if (status) {
		if ((status != 400 && status != 404) || !*err.text)
			abort();
		return;
	}
	if (r.route > ROUTE_READY || r.seconds > REQUEST_SECONDS_MAX || (r.route == ROUTE_REPORT && !r.pid))
		abort();
}

/* Once a head is complete, further bytes must not make it incomplete or wrong. */
static void hear(const char *bytes, size_t n)
{
	struct err err = { 0 };
	bool whole, before = false;
	for (size_t i = 0; i <= n; i++) {
		unsigned int status = request_head(bytes, i, &whole, &err);
		if ((status && !*err.text) || (before && (status || !whole)))
			abort();
		before = !status && whole;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	hear(text, size < 512 ? size : 512);
	char *host = strchr(text, '\n');
	if (host)
		*host++ = 0;
	parse(text);
	if (host && request_host_ok(host, false) && !request_host_ok(host, true))
		abort();
	free(text);
	return 0;
}
