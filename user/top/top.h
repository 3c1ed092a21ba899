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
	 * sentence: the processes ended by themselves). Called several times a second; does not block.
	 */
	int (*poll)(void *ctx, struct buf *out, struct err *err);
	/* What is to be told besides, such as a warning: one line, or NULL. Borrowed until the next poll. */
	const char *(*message)(void *ctx);
};

/* Until `q`, also when the source has ended before. pid 0: begins with the list of processes. */
int top_run(const struct top_source *source, uint32_t pid, struct err *err);

#endif
