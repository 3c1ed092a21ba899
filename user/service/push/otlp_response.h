/* SPDX-License-Identifier: Apache-2.0 */
/* push/otlp_response: decodes what OTLP servers answer. Any bytes may come. Private to this module. */
#ifndef ALYS_PUSH_OTLP_RESPONSE_H
#define ALYS_PUSH_OTLP_RESPONSE_H

#include "base/buf.h"

/* A server that wants to be left alone for longer is asked again after this long. */
#define RETRY_WAIT_MAX_S 300

/* Of an ExportProfilesServiceResponse: how many profiles were rejected; appends the server's reason. -1: it is none. */
int otlp_response_partial(const void *bytes, size_t n, uint64_t *rejected, struct buf *reason);

struct otlp_failure {
	bool recovers; /* the server says that it will recover */
	uint64_t wait_ms;
};

/* Of a google.rpc.Status; appends its message. -1: it is none. */
int otlp_response_failure(const void *bytes, size_t n, struct otlp_failure *out, struct buf *message);
/* The same from a header with its base64 form. */
int otlp_response_failure_base64(const char *text, struct otlp_failure *out);

#endif
