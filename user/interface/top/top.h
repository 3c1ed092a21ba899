/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top: live heaps in a terminal. In: lists of stacks (sink's feed format) from a source, and keys. Out: a screen of any
 * size from 40x8. Traces nothing and knows no sockets.
 */
#ifndef ALYS_TOP_H
#define ALYS_TOP_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct top_source {
	void *ctx;
	/*
	 * 1: *out is a newer list; 0: nothing new; -errno: there will be none, err says why (an empty message: the
	 * processes ended by themselves); -EAGAIN: none for now, keep asking. Called several times a second; must not
	 * block.
	 */
	int (*poll)(void *ctx, struct buf *out, struct err *err);
};

/* 0, or why there can be no screen: standard input and output are not a terminal. */
int top_check(struct err *err);
/*
 * Until `q`, even if the source has ended. pid 0: starts with the list of processes. Messages on a stderr that is this
 * terminal are shown in the last line, and repeated at the end.
 */
int top_run(const struct top_source *source, uint32_t pid, struct err *err);

#endif
