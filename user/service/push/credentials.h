/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push/credentials: the secrets of --push and the authority it trusts, read from files. They are in no message: what a
 * server says may repeat them, so texts are cleaned of them.
 */
#ifndef ALYS_PUSH_CREDENTIALS_H
#define ALYS_PUSH_CREDENTIALS_H

#include "base/buf.h"
#include "base/err.h"
#include "push/destination.h"

struct push_credentials {
	const char **headers; /* "NAME: VALUE" */
	size_t headers_cnt, headers_cap;
	const char *user;     /* "USER:PASSWORD"; NULL = none */
	struct buf authority; /* PEM; empty = the system's */
	/* Texts of which each is a secret, or part of one. */
	char **secrets;
	size_t secrets_cnt, secrets_cap;
	struct buf header_file, user_file;
};

/* Also checks the headers of the command line. The files need privileges that the sender may not have. 0 or -errno. */
int push_credentials_read(const struct push_options *o, struct push_credentials *out, struct err *err);
/* Appends text with every secret replaced, as it is or as JSON or percent-encoding spells it. c may be NULL. */
void push_credentials_redact(const struct push_credentials *c, const char *text, struct buf *out);
void push_credentials_free(struct push_credentials *c);

#endif
