/* SPDX-License-Identifier: Apache-2.0 */
/* push/otlp_response: see otlp_response.h. */
#include "push/otlp_response.h"

#include <string.h>

#include "user/service/push/otlp_response.pb-c.h"

int otlp_response_partial(const void *bytes, size_t n, uint64_t *rejected, struct buf *reason)
{
	OtlpResponse__Export *m = otlp_response__export__unpack(NULL, n, bytes);
	if (!m)
		return -1;
	if (m->partial_success) {
		int64_t few = m->partial_success->rejected_profiles;
		*rejected = few > 0 ? (uint64_t)few : 0;
		buf_adds(reason, m->partial_success->error_message);
	}
	otlp_response__export__free_unpacked(m, NULL);
	return 0;
}

static void read_retry_info(const OtlpResponse__Any *detail, struct otlp_failure *out)
{
	static const char type[] = "/google.rpc.RetryInfo";
	size_t len = strlen(detail->type_url), tail = sizeof(type) - 1;
	if (len < tail || strcmp(detail->type_url + len - tail, type))
		return;
	OtlpResponse__RetryInfo *m = otlp_response__retry_info__unpack(NULL, detail->value.len, detail->value.data);
	if (!m)
		return;
	out->recovers = true;
	int64_t seconds = m->retry_delay ? m->retry_delay->seconds : 0;
	if (seconds >= 0)
		out->wait_ms = (uint64_t)(seconds < RETRY_WAIT_MAX_S ? seconds : RETRY_WAIT_MAX_S) * 1000;
	otlp_response__retry_info__free_unpacked(m, NULL);
}

int otlp_response_failure(const void *bytes, size_t n, struct otlp_failure *out, struct buf *message)
{
	OtlpResponse__Status *m = otlp_response__status__unpack(NULL, n, bytes);
	if (!m)
		return -1;
	buf_adds(message, m->message);
	for (size_t i = 0; i < m->n_details; i++)
		read_retry_info(m->details[i], out);
	otlp_response__status__free_unpacked(m, NULL);
	return 0;
}

/* Up to the first other character; padding is optional in gRPC. */
static void add_base64(struct buf *out, const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at;
	uint32_t bits = 0;
	for (unsigned int have = 0; *text && (at = strchr(letters, *text)); text++) {
		bits = bits << 6 | (uint32_t)(at - letters);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		buf_u8(out, (uint8_t)(bits >> have));
	}
}

int otlp_response_failure_base64(const char *text, struct otlp_failure *out)
{
	struct buf bytes = { 0 }, message = { 0 };
	add_base64(&bytes, text);
	int rc = bytes.failed ? -1 : otlp_response_failure(bytes.data, bytes.len, out, &message);
	buf_free(&bytes);
	buf_free(&message);
	return rc;
}
