/* SPDX-License-Identifier: Apache-2.0 */
/* push/response: see response.h. */
#include "push/response.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "push/escape.h"

/* Enough for any message in words; the rest is read and forgotten. */
#define BODY_MAX (64u << 10)
/* A gRPC message is preceded by a flag and its length. */
#define GRPC_PREFIX 5

void response_reset(struct response *a)
{
	buf_reset(&a->body);
	buf_reset(&a->message);
	*a = (struct response){ .grpc_status = -1, .body = a->body, .message = a->message };
}

void response_free(struct response *a)
{
	buf_free(&a->body);
	buf_free(&a->message);
}

size_t response_on_body(char *data, size_t one, size_t n, void *ctx)
{
	struct response *a = ctx;
	size_t left = BODY_MAX - a->body.len;
	(void)one;
	buf_add(&a->body, data, n < left ? n : left);
	return n;
}

static const char *value_of(const char *line, const char *name)
{
	size_t len = strlen(name);
	if (strncasecmp(line, name, len) || line[len] != ':')
		return NULL;
	return line + len + 1 + strspn(line + len + 1, " \t");
}

/* gRPC encodes bytes other than printable ASCII, and %. */
static void take_message(struct response *a, const char *value)
{
	buf_reset(&a->message);
	for (char one[ESCAPED_MAX]; *value;) {
		value += escape_percent(value, one);
		buf_adds(&a->message, one);
	}
}

static void take_header(struct response *a, const char *line)
{
	const char *value;
	if ((value = value_of(line, "grpc-status"))) {
		a->grpc_status = strtol(value, NULL, 10);
	} else if ((value = value_of(line, "grpc-message"))) {
		take_message(a, value);
	} else if ((value = value_of(line, "grpc-status-details-bin"))) {
		otlp_response_failure_base64(value, &a->failure);
	} else if ((value = value_of(line, "content-type"))) {
		strncpy(a->type, value, sizeof(a->type) - 1);
	}
}

/* gRPC reports its status in headers or trailers; libcurl passes both here, with the line end. */
size_t response_on_header(char *data, size_t one, size_t n, void *ctx)
{
	struct buf line = { 0 };
	size_t len = n;
	(void)one;
	while (len && (data[len - 1] == '\n' || data[len - 1] == '\r'))
		len--;
	buf_add(&line, data, len);
	take_header(ctx, buf_str(&line));
	buf_free(&line);
	return n;
}

/* OTLP answers in protobuf, also with its reasons; proxies before it answer in text. */
static bool is_protobuf(const struct response *a)
{
	return strcasestr(a->type, "protobuf");
}

/* Web servers other than the one meant may answer any path with a page and status 200. */
static bool is_page(const struct response *a)
{
	return !strncasecmp(a->type, "text/html", 9);
}

/* A transient failure by the codes that OTLP lists. RESOURCE_EXHAUSTED may also mean that the profile is too large. */
static bool passes(const struct response *a, const struct push_backend *p)
{
	enum {
		CANCELLED = 1,
		DEADLINE_EXCEEDED = 4,
		RESOURCE_EXHAUSTED = 8,
		ABORTED = 10,
		OUT_OF_RANGE,
		UNAVAILABLE = 14,
		DATA_LOSS
	};
	switch (a->grpc_status) {
	case DEADLINE_EXCEEDED:
	case ABORTED:
	case UNAVAILABLE: return true;
	case RESOURCE_EXHAUSTED: return !p->otlp || a->failure.recovers;
	case CANCELLED:
	case OUT_OF_RANGE:
	case DATA_LOSS: return p->otlp;
	default: return false;
	}
}

static bool passes_http(const struct response *a, const struct push_backend *p)
{
	if (a->status == 429 || (a->status >= 502 && a->status <= 504))
		return true;
	return !p->otlp && (a->status == 408 || a->status >= 500);
}

/* A full or partial success, or something else: REFUSED. */
static enum outcome judge_otlp(struct response *a, const struct push_backend *p)
{
	size_t prefix = p->grpc && a->body.len >= GRPC_PREFIX ? GRPC_PREFIX : 0;
	bool decoded = p->grpc || is_protobuf(a);
	if (!decoded)
		return is_page(a) ? REFUSED : SENT;
	return otlp_response_partial(a->body.data + prefix, a->body.len - prefix, &a->rejected, &a->message) ? REFUSED : SENT;
}

static enum outcome judge_success(struct response *a, const struct push_backend *p)
{
	if (p->grpc && a->grpc_status)
		return passes(a, p) ? AGAIN : REFUSED;
	if (p->otlp)
		return judge_otlp(a, p);
	return !p->grpc && is_page(a) ? REFUSED : SENT;
}

enum outcome response_judge(struct response *a, const struct push_backend *p)
{
	if (a->failed)
		return AGAIN;
	if (a->status >= 200 && a->status < 300) {
		enum outcome how = judge_success(a, p);
		a->wait_ms = a->wait_ms ? a->wait_ms : a->failure.wait_ms;
		return how;
	}
	bool decoded = p->otlp && is_protobuf(a) && !otlp_response_failure(a->body.data, a->body.len, &a->failure, &a->message);
	if (!decoded && !a->message.len)
		buf_add(&a->message, a->body.data, a->body.len);
	return passes_http(a, p) ? AGAIN : REFUSED;
}

static void add_failed(const struct response *a, struct buf *out)
{
	switch (a->failed) {
	case CURLE_PEER_FAILED_VERIFICATION:
		buf_addf(out, "%s: profiles wait until the server proves who it is; --push-ca FILE names its authority", a->why);
		break;
	case CURLE_SSL_CONNECT_ERROR: buf_addf(out, "%s: profiles wait; does the server speak TLS at this port?", a->why); break;
	default: buf_addf(out, "%s: profiles wait until the server can be reached", a->why);
	}
}

static const char *advice(const struct response *a)
{
	enum { UNAUTHENTICATED = 16 };
	if (a->status == 401 || a->status == 403 || a->grpc_status == UNAUTHENTICATED)
		return "this profile is dropped; give credentials with --push-user-file or --push-header-file";
	if (a->status >= 300 && a->status < 400)
		return "this profile is dropped; redirects are not followed: give --push the server's own URL";
	return "this profile is dropped, and so will be others that it refuses";
}

void response_text(const struct response *a, const struct push_backend *p, enum outcome how, struct buf *out)
{
	int len = (int)a->message.len;
	const char *text = len ? (const char *)a->message.data : "";
	if (a->failed) {
		add_failed(a, out);
		return;
	}
	if (how == SENT) {
		if (a->rejected)
			buf_addf(out, "the server rejected %llu profiles of a request that it took: ",
				 (unsigned long long)a->rejected);
		else
			buf_adds(out, "the server took the profiles and says: ");
		buf_addf(out, "%.*s", len, text);
		return;
	}
	if (a->grpc_status >= 0)
		buf_addf(out, "the server says gRPC %ld %.*s", a->grpc_status, len, text);
	else if (a->status >= 200 && a->status < 300)
		buf_addf(out, "the server answers, but not as %s", p->name);
	else
		buf_addf(out, "the server says %ld %.*s", a->status, len, text);
	buf_addf(out, ": %s", how == AGAIN ? "profiles wait until it takes them" : advice(a));
}

long response_cause(const struct response *a, enum outcome how)
{
	if (a->failed)
		return -(long)a->failed;
	if (how == SENT)
		return a->message.len || a->rejected ? 200 : 0;
	return a->status * 100 + a->grpc_status + 1;
}
