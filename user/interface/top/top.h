/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top: live heaps in a terminal. In: lists of stacks (sink's feed format) from whoever has them, and keys.
 * Out: a screen of any size from 40x8 on. Traces nothing and knows no sockets.
 */
#ifndef ALYS_TOP_H
#define ALYS_TOP_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct top_source {
	void *ctx;
	/*
	 * 1: *out holds a newer list; 0: nothing new; -errno: there will be none, err says why (an empty
	 * sentence: the processes ended by themselves); -EAGAIN: none for now, and it goes on being asked. Called several
	 * times a second; does not block.
	 */
	int (*poll)(void *ctx, struct buf *out, struct err *err);
};

/* 0, or why there is no screen here: standard input and output are no terminal. */
int top_check(struct err *err);
/*
 * Until `q`, also when the source has ended before. pid 0: begins with the list of processes. What is said on
 * a stderr that is this terminal is shown in the last line meanwhile, and once more at the end.
 */
int top_run(const struct top_source *source, uint32_t pid, struct err *err);

#endif
