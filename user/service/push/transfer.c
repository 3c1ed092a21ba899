/* SPDX-License-Identifier: Apache-2.0 */
/* push/transfer: see transfer.h. Redirects are not followed: they could lead secrets to another host. */
#include "push/transfer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "push/credentials.h"
#include "push/curl.h"

struct transfer {
	const struct push_backend *backend;
	const struct curl_calls *lib;
	CURL *curl;
	struct curl_slist *headers;
	bool (*is_over)(void *ctx);
	void *ctx;
	pthread_mutex_t lock;
	int sock; /* the connection, -1 = none; protected by lock */
};

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct transfer *t = ctx;
	(void)a, (void)b, (void)c, (void)d;
	return t->is_over(t->ctx);
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct transfer *t = ctx;
	(void)purpose;
	int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	pthread_mutex_lock(&t->lock);
	t->sock = fd;
	pthread_mutex_unlock(&t->lock);
	return fd;
}

/* Under the lock, so that transfer_cut cannot hit another descriptor that reuses the number. */
static int close_socket(void *ctx, curl_socket_t fd)
{
	struct transfer *t = ctx;
	pthread_mutex_lock(&t->lock);
	if (t->sock == fd)
		t->sock = -1;
	int rc = close(fd);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

void transfer_cut(struct transfer *t)
{
	pthread_mutex_lock(&t->lock);
	if (t->sock >= 0)
		shutdown(t->sock, SHUT_RDWR);
	pthread_mutex_unlock(&t->lock);
}

enum outcome transfer_post(struct transfer *t, const struct buf *body, struct response *out)
{
	const struct curl_calls *lib = t->lib;
	curl_off_t wait = 0;
	response_reset(out);
	lib->easy_setopt(t->curl, CURLOPT_POSTFIELDS, (char *)body->data);
	lib->easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	lib->easy_setopt(t->curl, CURLOPT_WRITEDATA, out);
	lib->easy_setopt(t->curl, CURLOPT_HEADERDATA, out);
	lib->easy_setopt(t->curl, CURLOPT_ERRORBUFFER, out->why);
	out->failed = lib->easy_perform(t->curl);
	lib->easy_setopt(t->curl, CURLOPT_ERRORBUFFER, NULL);
	if (!*out->why)
		strncpy(out->why, lib->easy_strerror(out->failed), sizeof(out->why) - 1);
	lib->easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &out->status);
	lib->easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &wait);
	out->wait_ms = wait > 0 ? (uint64_t)(wait < RETRY_WAIT_MAX_S ? wait : RETRY_WAIT_MAX_S) * 1000 : 0;
	return response_judge(out, t->backend);
}

static void add_header(struct transfer *t, const char *line)
{
	t->headers = t->lib->slist_append(t->headers, line);
}

static void set_headers(struct transfer *t, const struct push_options *o)
{
	struct buf tenant = { 0 };
	for (const char *const *line = t->backend->headers; *line; line++)
		add_header(t, *line);
	add_header(t, "Expect:");
	if (o->tenant) {
		buf_addf(&tenant, "X-Scope-OrgID: %s", o->tenant);
		add_header(t, buf_str(&tenant));
	}
	buf_free(&tenant);
	for (size_t i = 0; i < o->headers.at_cnt; i++)
		add_header(t, o->headers.at[i]);
	for (size_t i = 0; o->credentials && i < o->credentials->headers_cnt; i++)
		add_header(t, o->credentials->headers[i]);
	t->lib->easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers);
}

static void set_callbacks(struct transfer *t)
{
	t->lib->easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, response_on_body);
	t->lib->easy_setopt(t->curl, CURLOPT_HEADERFUNCTION, response_on_header);
	t->lib->easy_setopt(t->curl, CURLOPT_NOPROGRESS, 0l);
	t->lib->easy_setopt(t->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	t->lib->easy_setopt(t->curl, CURLOPT_XFERINFODATA, t);
	t->lib->easy_setopt(t->curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	t->lib->easy_setopt(t->curl, CURLOPT_OPENSOCKETDATA, t);
	t->lib->easy_setopt(t->curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	t->lib->easy_setopt(t->curl, CURLOPT_CLOSESOCKETDATA, t);
}

static void set_limits(struct transfer *t)
{
	t->lib->easy_setopt(t->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	t->lib->easy_setopt(t->curl, CURLOPT_FOLLOWLOCATION, 0l);
	t->lib->easy_setopt(t->curl, CURLOPT_USERAGENT, "alys-bpf/" ALYS_VERSION);
	t->lib->easy_setopt(t->curl, CURLOPT_NOSIGNAL, 1l);
	t->lib->easy_setopt(t->curl, CURLOPT_CONNECTTIMEOUT_MS, 5000l);
	t->lib->easy_setopt(t->curl, CURLOPT_TIMEOUT_MS, 30000l);
}

static int set_url(struct transfer *t, const char *given, struct buf *url, struct err *err)
{
	CURLU *parts = t->lib->url();
	t->backend = backend_find(given, url, err);
	bool ok = t->backend && parts && !t->lib->url_set(parts, CURLUPART_URL, buf_str(url), 0);
	t->lib->url_cleanup(parts);
	if (!t->backend)
		return -err->code;
	if (!ok)
		return err_set(err, EINVAL, "--push wants a URL with a host name or address, and a port");
	t->lib->easy_setopt(t->curl, CURLOPT_URL, buf_str(url));
	return 0;
}

/* gRPC requires HTTP/2, which is negotiated with TLS only; without TLS it must be assumed. */
static int set_version(struct transfer *t, const char *url, struct err *err)
{
	long version = !strncmp(url, "https:", 6) ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	if (!t->backend->grpc)
		return 0;
	/* libcurl 7.88 fails on the second transfer over such a connection, and does not close it. */
	t->lib->easy_setopt(t->curl, CURLOPT_FORBID_REUSE, 1l);
	if (!t->lib->easy_setopt(t->curl, CURLOPT_HTTP_VERSION, version))
		return 0;
	return err_set(err, ENOTSUP, "--push to %s needs HTTP/2, which this machine's libcurl.so.4 was built without",
		       t->backend->name);
}

static bool is_near(const char *url)
{
	const char *host = url + strlen("http://");
	size_t len = strcspn(host, ":/"), number = strspn(host, "0123456789.");
	return (!strncmp(host, "127.", 4) && number == len) || !strncmp(host, "[::1]", 5) ||
	       (len == strlen("localhost") && !strncasecmp(host, "localhost", len));
}

/* --push-ca is trusted instead of the system's authorities, not beside them. */
static int set_credentials(struct transfer *t, const struct push_credentials *c, const char *url, struct err *err)
{
	bool encrypted = !strncmp(url, "https:", 6);
	struct curl_blob authority = { .data = c->authority.data, .len = c->authority.len, .flags = CURL_BLOB_COPY };
	if (c->user)
		t->lib->easy_setopt(t->curl, CURLOPT_USERPWD, c->user);
	if (c->secrets_cnt && !encrypted && !is_near(url))
		log_warn("--push: secrets are sent unencrypted: use a URL with https");
	if (!c->authority.len)
		return 0;
	if (!encrypted)
		return err_set(err, EINVAL, "--push-ca is for URLs with https or grpcs: this one would not be encrypted");
	t->lib->easy_setopt(t->curl, CURLOPT_CAPATH, NULL);
	if (!t->lib->easy_setopt(t->curl, CURLOPT_CAINFO_BLOB, &authority))
		return 0;
	return err_set(err, ENOTSUP, "--push-ca needs libcurl 7.77 or newer with OpenSSL");
}

static int set_up(struct transfer *t, const struct push_options *o, struct err *err)
{
	struct buf url = { 0 };
	int rc = set_url(t, o->url, &url, err);
	if (!rc)
		rc = set_version(t, buf_str(&url), err);
	if (!rc && o->credentials)
		rc = set_credentials(t, o->credentials, buf_str(&url), err);
	if (!rc)
		set_headers(t, o);
	set_limits(t);
	set_callbacks(t);
	buf_free(&url);
	return rc;
}

struct transfer *transfer_new(const struct push_options *o, bool (*is_over)(void *ctx), void *ctx, struct err *err)
{
	const struct curl_calls *lib = curl_load(err);
	struct transfer *t = lib ? calloc(1, sizeof(*t)) : NULL;
	if (!lib)
		return NULL;
	if (!t || !(t->curl = lib->easy_init())) {
		free(t);
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	t->lib = lib;
	t->is_over = is_over;
	t->ctx = ctx;
	t->sock = -1;
	pthread_mutex_init(&t->lock, NULL);
	if (!set_up(t, o, err))
		return t;
	transfer_free(t);
	return NULL;
}

const struct push_backend *transfer_backend(const struct transfer *t)
{
	return t->backend;
}

void transfer_free(struct transfer *t)
{
	if (!t)
		return;
	t->lib->easy_cleanup(t->curl);
	t->lib->slist_free_all(t->headers);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
