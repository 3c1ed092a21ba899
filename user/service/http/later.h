/* SPDX-License-Identifier: Apache-2.0 */
/* http/later: the implementation behind struct http_later. For http/ and push/ only. */
#ifndef ALYS_HTTP_LATER_H
#define ALYS_HTTP_LATER_H

#include "http/source.h"

struct http_later {
	/* See http_later_done; any thread. */
	void (*done)(struct http_later *later, int rc, struct buf *out, const struct err *err);
};

#endif
