/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/protocol: the protocol between `ctl` and the daemon over a SOCK_SEQPACKET Unix socket, one request and one
 * answer. Both sides check their input; no I/O here.
 *
 *   request: 'A' 1, then words, each ended by a NUL: the verb and its arguments
 *   answer:  'A' 1, exit status, then text; a descriptor may come along (a profile's bytes)
 */
#ifndef ALYS_DAEMON_PROTOCOL_H
#define ALYS_DAEMON_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define PROTOCOL_MAX 65536 /* bytes of a packet */
#define REQUEST_WORDS 4

enum request_verb {
	REQUEST_STATUS,
	REQUEST_ON,
	REQUEST_OFF,
	REQUEST_ADD,      /* pid */
	REQUEST_REMOVE,   /* pid */
	REQUEST_SAMPLE,   /* interval */
	REQUEST_SNAPSHOT, /* pid or 0, format */
	REQUEST_ROTATE,
	REQUEST_STOP,
	REQUEST_CNT
};

struct request {
	enum request_verb verb;
	uint32_t pid; /* 0 = none */
	uint64_t interval;
	char format[32]; /* "" = pprof */
};

/* From the words that a user typed: "sample", "bytes:512k". */
int request_of_words(struct request *r, size_t n, const char *const *words, struct err *err);
void request_write(const struct request *r, struct buf *out);
int request_read(struct request *r, const void *bytes, size_t n, struct err *err);

void answer_write(struct buf *out, int status, const char *text);
/* The status, or -EPROTO; *text is borrowed from bytes and ends with a NUL. */
int answer_read(const void *bytes, size_t n, const char **text, struct err *err);

#endif
