/* SPDX-License-Identifier: Apache-2.0 */
/* http/deferred: the implementation behind struct http_deferred. For http/ and push/ only. */
#ifndef ALYS_HTTP_DEFERRED_H
#define ALYS_HTTP_DEFERRED_H

#include "http/source.h"

struct http_deferred {
	/* See http_deferred_done; any thread. */
	void (*done)(struct http_deferred *later, int rc, struct buf *out, const struct err *err);
};

#endif
