/* SPDX-License-Identifier: Apache-2.0 */
/* push/backend: the servers that profiles can be sent to, and how each is addressed. Private to this module. */
#ifndef ALYS_PUSH_BACKEND_H
#define ALYS_PUSH_BACKEND_H

#include "base/buf.h"
#include "base/err.h"
#include "http/source.h"

enum push_kind { PUSH_PYROSCOPE, PUSH_PARCA, PUSH_OTLP, PUSH_OTLP_GRPC };

struct push_backend {
	enum push_kind kind;
	const char *name;          /* for messages */
	const char *path;          /* appended to the URL */
	const char *headers[4];    /* ends with NULL */
	bool otlp;                 /* answers follow the OTLP specification */
	bool grpc;                 /* messages and answers are framed as gRPC, over HTTP/2 */
	bool whole;                /* takes everything allocated so far each time, not what came since the last time */
	enum http_profile profile; /* requested from the source */
	size_t samples_max;        /* of it */
};

/* The backend of this URL; `plain` becomes the http:// or https:// URL to post to. NULL: err says why. */
const struct push_backend *backend_find(const char *url, struct buf *plain, struct err *err);

#endif
