/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/ctl: the client side of the control socket: one request, its answer on stdout. */
#ifndef ALYS_DAEMON_CTL_H
#define ALYS_DAEMON_CTL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct ctl_options {
	const char *socket; /* NULL: daemon_socket() */
	const char *output; /* of a snapshot; NULL: stdout when that is no terminal, else named after the process */
	bool force;         /* replace an existing output */
	double patience;    /* timeout for the answer in seconds */
	const char *words[4];
	size_t words_cnt;
};

struct request;

/* Fetches the bytes that come with the answer; 0 or -errno. socket NULL: daemon_socket(). */
int ctl_fetch(const char *socket, const struct request *r, double patience, struct buf *out, struct err *err);
/* Exit status. */
int ctl_run(const struct ctl_options *o, struct err *err);

#endif
