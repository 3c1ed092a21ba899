/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/protocol: see protocol.h. */
#include "daemon/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define MAGIC 'A'
#define VERSION 1
#define PID_MAX 0x7fffffff

/* A verb's arguments: fewest, most, and usage. */
static const struct {
	const char *name;
	size_t least, most;
	const char *usage;
} verbs[REQUEST_CNT] = {
	[REQUEST_STATUS] = { "status", 0, 0, "status" },
	[REQUEST_ON] = { "on", 0, 0, "on" },
	[REQUEST_OFF] = { "off", 0, 0, "off" },
	[REQUEST_ADD] = { "add", 1, 1, "add PID" },
	[REQUEST_REMOVE] = { "remove", 1, 1, "remove PID" },
	[REQUEST_SAMPLE] = { "sample", 1, 1, "sample bytes:N" },
	[REQUEST_SNAPSHOT] = { "snapshot", 0, 2, "snapshot [PID|all [FORMAT]]" },
	[REQUEST_ROTATE] = { "rotate", 0, 0, "rotate" },
	[REQUEST_STOP] = { "stop", 0, 0, "stop" },
};

static int parse_pid(const char *word, uint32_t *out, struct err *err)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);
	if (end == word || *end || *word == '-' || !n || n > PID_MAX)
		return err_set(err, EINVAL, "wants a process number such as 1234, got \"%.40s\"", word);
	*out = (uint32_t)n;
	return 0;
}

static int parse_interval(const char *word, uint64_t *out, struct err *err)
{
	char *end;
	unsigned int shift = 0;
	uint64_t n = strncmp(word, "bytes:", 6) || word[6] == '-' ? 0 : strtoull(word + 6, &end, 10);
	if (n && (*end == 'k' || *end == 'K'))
		shift = 10;
	else if (n && (*end == 'm' || *end == 'M'))
		shift = 20;
	else if (n && (*end == 'g' || *end == 'G'))
		shift = 30;
	if (!n || end[shift ? 1 : 0] || n > (1ull << 40) >> shift)
		return err_set(err, EINVAL, "sample wants bytes:N with N from 1 on, such as bytes:512k, got \"%.40s\"", word);
	*out = n << shift;
	return 0;
}

/* Checks the syntax only. Whether the format exists is checked where it is used. */
static int parse_format(const char *word, char *out, size_t cap, struct err *err)
{
	if (!*word || strlen(word) >= cap || word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")])
		return err_set(err, EINVAL, "no format \"%.40s\": `alys-bpf convert --help` lists them", word);
	snprintf(out, cap, "%s", word);
	return 0;
}

static int parse_arguments(struct request *r, size_t n, const char *const *words, struct err *err)
{
	switch (r->verb) {
	case REQUEST_ADD:
	case REQUEST_REMOVE: return parse_pid(words[0], &r->pid, err);
	case REQUEST_SAMPLE: return parse_interval(words[0], &r->interval, err);
	case REQUEST_SNAPSHOT:
		if (n && strcmp(words[0], "all") && parse_pid(words[0], &r->pid, err))
			return -EINVAL;
		return n > 1 ? parse_format(words[1], r->format, sizeof(r->format), err) : 0;
	case REQUEST_STATUS:
	case REQUEST_ON:
	case REQUEST_OFF:
	case REQUEST_ROTATE:
	case REQUEST_STOP:
	case REQUEST_CNT: break;
	}
	return 0;
}

int request_of_words(struct request *r, size_t n, const char *const *words, struct err *err)
{
	*r = (struct request){ 0 };
	int verb = 0;
	while (n && verb < REQUEST_CNT && strcmp(verbs[verb].name, words[0]))
		verb++;
	if (!n || verb == REQUEST_CNT)
		return err_set(err, EINVAL,
			       "unknown ctl command \"%.40s\": choose from status, on, off, add, remove, sample, snapshot, "
			       "rotate, stop",
			       n ? words[0] : "");
	if (n - 1 < verbs[verb].least || n - 1 > verbs[verb].most)
		return err_set(err, EINVAL, "usage: alys-bpf ctl %s", verbs[verb].usage);
	r->verb = (enum request_verb)verb;
	return parse_arguments(r, n - 1, words + 1, err);
}

static void put_word(struct buf *out, const char *word)
{
	buf_add(out, word, strlen(word) + 1);
}

void request_write(const struct request *r, struct buf *out)
{
	char number[40];
	buf_u8(out, MAGIC);
	buf_u8(out, VERSION);
	put_word(out, verbs[r->verb].name);
	snprintf(number, sizeof(number), "%" PRIu32, r->pid);
	if (r->verb == REQUEST_SNAPSHOT)
		put_word(out, r->pid ? number : "all");
	else if (r->pid)
		put_word(out, number);
	snprintf(number, sizeof(number), "bytes:%" PRIu64, r->interval);
	if (r->interval)
		put_word(out, number);
	if (r->format[0])
		put_word(out, r->format);
}

static int wrong_head(struct cursor *c, struct err *err)
{
	uint8_t magic = cursor_u8(c), version = cursor_u8(c);
	if (c->bad || magic != MAGIC)
		return err_set(err, EPROTO, "not an alys-bpf message");
	if (version != VERSION)
		return err_set(err, EPROTO, "a message of version %u, this is version %u: ctl and daemon must be of one release",
			       version, VERSION);
	return 0;
}

int request_read(struct request *r, const void *bytes, size_t n, struct err *err)
{
	struct cursor c = cursor_over(bytes, n);
	const char *words[REQUEST_WORDS];
	size_t words_cnt = 0;
	int rc = n > PROTOCOL_MAX ? err_set(err, EPROTO, "a message too long") : wrong_head(&c, err);
	if (rc)
		return rc;
	while (cursor_left(&c)) {
		const void *end = memchr(c.at, 0, cursor_left(&c));
		if (!end || words_cnt == REQUEST_WORDS)
			return err_set(err, EPROTO, "a message of too many words, or without an end");
		words[words_cnt++] = (const char *)c.at;
		cursor_bytes(&c, (size_t)((const uint8_t *)end - c.at) + 1);
	}
	return request_of_words(r, words_cnt, words, err);
}

void answer_write(struct buf *out, int status, const char *text)
{
	size_t n = strlen(text);
	buf_u8(out, MAGIC);
	buf_u8(out, VERSION);
	buf_u8(out, (uint8_t)status);
	buf_add(out, text, n < PROTOCOL_MAX - 4 ? n : PROTOCOL_MAX - 4);
	buf_u8(out, 0);
}

int answer_read(const void *bytes, size_t n, const char **text, struct err *err)
{
	struct cursor c = cursor_over(bytes, n);
	int rc = wrong_head(&c, err);
	if (rc)
		return rc;
	uint8_t status = cursor_u8(&c);
	if (c.bad || !cursor_left(&c) || ((const uint8_t *)bytes)[n - 1])
		return err_set(err, EPROTO, "the daemon's answer is truncated");
	*text = (const char *)c.at;
	return status;
}
