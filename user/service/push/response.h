/* SPDX-License-Identifier: Apache-2.0 */
/* push/response: what a server answered to a profile, what follows from it, and how to say it. Private to this module. */
#ifndef ALYS_PUSH_RESPONSE_H
#define ALYS_PUSH_RESPONSE_H

#include <curl/curl.h>

#include "push/otlp_response.h"
#include "push/backend.h"

struct response {
	CURLcode failed;             /* no answer came; then: */
	char why[CURL_ERROR_SIZE];   /* libcurl's reason */
	long status;                 /* HTTP */
	long grpc_status;            /* -1 = none */
	char type[64];               /* Content-Type */
	struct buf body;             /* its beginning */
	struct buf message;          /* the server's reason, raw */
	struct otlp_failure failure; /* of OTLP servers */
	uint64_t wait_ms;            /* the server asks to be left alone for this long */
	uint64_t rejected;           /* OTLP: profiles refused of those sent */
};

enum outcome { SENT, REFUSED, AGAIN };

void response_reset(struct response *a);
void response_free(struct response *a);
/* libcurl's callbacks; ctx is the answer. */
size_t response_on_body(char *data, size_t one, size_t n, void *ctx);
size_t response_on_header(char *data, size_t one, size_t n, void *ctx);
/* Once all is there. */
enum outcome response_judge(struct response *a, const struct push_backend *p);
/* One sentence for everything but a full success. */
void response_text(const struct response *a, const struct push_backend *p, enum outcome how, struct buf *out);
/* The same for the same cause, whatever the server's words; 0 = full success. */
long response_cause(const struct response *a, enum outcome how);

#endif
