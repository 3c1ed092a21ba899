/* SPDX-License-Identifier: Apache-2.0 */
/* push/credentials: see credentials.h. */
#include "push/credentials.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "access/secret_file.h"
#include "base/text.h"
#include "base/vec.h"
#include "push/escape.h"

#define SECRETS_MAX (64u << 10)
#define AUTHORITY_MAX (4u << 20)
/* Shorter ones would be found in any text. */
#define SECRET_MIN 4

static bool has_control(const char *s)
{
	for (; *s; s++) {
		if (iscntrl((unsigned char)*s) && *s != '\t')
			return true;
	}
	return false;
}

static bool is_name_char(int c)
{
	return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* The length of its name; 0: it is no header with a value. */
static size_t header_name(const char *line)
{
	size_t n = 0;
	while (is_name_char((unsigned char)line[n]))
		n++;
	const char *value = line + n + (line[n] == ':');
	value += strspn(value, " \t");
	return line[n] == ':' && *value && !has_control(line) ? n : 0;
}

static bool is_ours(const char *line, size_t len)
{
	static const char *const names[] = {
		"Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Host",
		"TE",           "Expect",         "grpc-encoding"
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == len && !strncasecmp(line, names[i], len))
			return true;
	}
	return false;
}

/* By its name: which ones are secrets is a custom of each server. */
static bool looks_secret(const char *line, size_t len)
{
	static const char *const parts[] = { "auth", "cookie", "token", "secret", "key", "password", "credential" };
	char name[256] = "";
	memcpy(name, line, len < sizeof(name) ? len : sizeof(name) - 1);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcasestr(name, parts[i]))
			return true;
	}
	return false;
}

static int check_visible(const char *line, struct err *err)
{
	size_t len = header_name(line);
	if (!len)
		return err_set(err, EINVAL, "--push-header wants 'NAME: VALUE', in one line");
	if (is_ours(line, len))
		return err_set(err, EINVAL, "--push-header %.*s: this header is set by the protocol", (int)len, line);
	if (looks_secret(line, len))
		return err_set(err, EINVAL,
			       "--push-header %.*s: `ps` would show its value: put the line into a file for --push-header-file",
			       (int)len, line);
	return 0;
}

static int add_secret(struct push_credentials *c, const char *text)
{
	char **place = strlen(text) >= SECRET_MIN ? VEC_PUSH(c, secrets) : NULL;
	if (strlen(text) < SECRET_MIN)
		return 0;
	if (place)
		*place = strdup(text);
	return place && *place ? 0 : -ENOMEM;
}

/* "Bearer abc" may be repeated without its scheme. */
static int add_header_secret(struct push_credentials *c, const char *line)
{
	const char *value = strchr(line, ':') + 1;
	value += strspn(value, " \t");
	const char *word = value + strcspn(value, " \t");
	word += strspn(word, " \t");
	int rc = add_secret(c, value);
	return rc ? rc : add_secret(c, word);
}

static int add_user_secrets(struct push_credentials *c)
{
	struct buf encoded = { 0 };
	text_base64(&encoded, c->user, strlen(c->user));
	int rc = encoded.failed ? -ENOMEM : add_secret(c, buf_str(&encoded));
	if (!rc)
		rc = add_secret(c, strchr(c->user, ':') + 1);
	buf_free(&encoded);
	return rc;
}

/* Cuts the next line off; NULL after the last. */
static char *next_line(char **at)
{
	char *line = *at, *end = line + strcspn(line, "\n");
	if (!*line)
		return NULL;
	*at = *end ? end + 1 : end;
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return line;
}

static int read_headers(struct push_credentials *c, const char *path, struct err *err)
{
	int rc = secret_file_read(path, false, SECRETS_MAX, &c->header_file, err);
	char *at = rc ? NULL : (char *)(uintptr_t)buf_str(&c->header_file), *line;
	for (unsigned int number = 1; at && !rc && (line = next_line(&at)); number++) {
		size_t len = header_name(line);
		if (!*line || *line == '#')
			continue;
		if (!len || is_ours(line, len)) {
			rc = err_set(err, EINVAL, "line %u of %s is no header that can be added: write NAME: VALUE", number,
				     path);
			break;
		}
		const char **place = VEC_PUSH(c, headers);
		if (place)
			*place = line;
		if (!place || add_header_secret(c, line))
			rc = err_set(err, ENOMEM, "out of memory");
	}
	return rc ? err_wrap(err, "--push-header-file") : 0;
}

static int read_user(struct push_credentials *c, const char *path, struct err *err)
{
	int rc = secret_file_read(path, false, SECRETS_MAX, &c->user_file, err);
	if (rc)
		return err_wrap(err, "--push-user-file");
	char *at = (char *)(uintptr_t)buf_str(&c->user_file);
	c->user = next_line(&at);
	if (!c->user || *at || *c->user == ':' || !strchr(c->user, ':') || has_control(c->user))
		return err_set(err, EINVAL, "--push-user-file: %s wants one line, USER:PASSWORD", path);
	return add_user_secrets(c) ? err_set(err, ENOMEM, "out of memory") : 0;
}

static int read_authority(struct push_credentials *c, const char *path, struct err *err)
{
	int rc = secret_file_read(path, true, AUTHORITY_MAX, &c->authority, err);
	if (rc)
		return err_wrap(err, "--push-ca");
	if (!strstr(buf_str(&c->authority), "-----BEGIN CERTIFICATE-----"))
		return err_set(err, EINVAL, "--push-ca: %s has no certificate in PEM form (BEGIN CERTIFICATE)", path);
	return 0;
}

static int read_all(const struct push_options *o, struct push_credentials *c, struct err *err)
{
	int rc = o->tenant && has_control(o->tenant) ? err_set(err, EINVAL, "--push-tenant wants a name in one line") : 0;
	for (size_t i = 0; !rc && i < o->headers.at_cnt; i++)
		rc = check_visible(o->headers.at[i], err);
	if (!rc && o->header_file)
		rc = read_headers(c, o->header_file, err);
	if (!rc && o->user_file)
		rc = read_user(c, o->user_file, err);
	if (!rc && o->ca_file)
		rc = read_authority(c, o->ca_file, err);
	return rc;
}

int push_credentials_read(const struct push_options *o, struct push_credentials *out, struct err *err)
{
	*out = (struct push_credentials){ 0 };
	int rc = read_all(o, out, err);
	if (rc)
		push_credentials_free(out);
	return rc;
}

/* How long the secret is in the text, spelled so; 0: it is not there. */
static size_t spelled(const char *text, const char *secret, escape_fn *next)
{
	const char *at = text;
	while (*secret && *at) {
		char one[ESCAPED_MAX];
		at += next(at, one);
		if (strncmp(secret, one, strlen(one)))
			return 0;
		secret += strlen(one);
	}
	return *secret ? 0 : (size_t)(at - text);
}

static size_t secret_at(const struct push_credentials *c, const char *text)
{
	static escape_fn *const spellings[] = { escape_none, escape_json, escape_percent };
	size_t longest = 0;
	for (size_t i = 0; c && i < c->secrets_cnt; i++) {
		for (size_t k = 0; k < sizeof(spellings) / sizeof(spellings[0]); k++) {
			size_t len = spelled(text, c->secrets[i], spellings[k]);
			longest = len > longest ? len : longest;
		}
	}
	return longest;
}

void push_credentials_redact(const struct push_credentials *c, const char *text, struct buf *out)
{
	for (size_t len; *text; text += len) {
		size_t secret = secret_at(c, text);
		len = secret ? secret : 1;
		buf_add(out, secret ? "[secret]" : text, secret ? 8 : 1);
	}
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_free(b);
}

void push_credentials_free(struct push_credentials *c)
{
	for (size_t i = 0; i < c->secrets_cnt; i++) {
		if (c->secrets[i])
			explicit_bzero(c->secrets[i], strlen(c->secrets[i]));
		free(c->secrets[i]);
	}
	free(c->secrets);
	free(c->headers);
	wipe(&c->header_file);
	wipe(&c->user_file);
	buf_free(&c->authority);
	*c = (struct push_credentials){ 0 };
}
