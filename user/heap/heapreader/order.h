/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapreader/order: what goes between a recording and its heap reader: a packet in each direction, and before it what has
 * no bound, in a file in memory that both have. One of them speaks at a time, so one file serves both directions, and keeps its
 * pages: a new one for each collection cost more than what was written to it.
 */
#ifndef ALYS_HEAPREADER_ORDER_H
#define ALYS_HEAPREADER_ORDER_H

#include "heapreader/work.h"

enum order_kind { ORDER_FIND = 1, ORDER_PROVE, ORDER_HEAP, ORDER_MARKS, ORDER_COPY, ORDER_COUNT, ORDER_COMPARE };

#define ORDER_KEPT_MAX (16u << 20) /* bytes of memory kept for the next order */

/* One end. The recording opens both before the reader is forked: no descriptor is taken from a packet. */
struct order_line {
	int sock, file;
};

struct order_head {
	uint64_t bulk; /* bytes in the file, set by order_send */
};

struct order {
	struct order_head head;
	uint32_t kind;
	uint32_t some;                 /* marks: of the addresses that come along alone; prove: the proof is known */
	struct heapreader_place place; /* find, prove: its tgid */
	uint64_t most;                 /* bytes: compare, copy */
	uint64_t copy_len;             /* compare: of what comes along, behind the rest; 0 = none */
};

struct order_reply {
	struct order_head head;
	int32_t rc;
	uint8_t typed, crystal;
	uint64_t gc_no, spent_ns;
	struct heapreader_place place;
	struct calibration proof;
	struct err err;
};

/* For two processes: the descriptor of the file is the same. 0 or -errno. */
int order_lines(struct order_line ends[2]);
void order_line_close(const struct order_line *l);
/* A packet of n bytes, and bulk, which may be empty. 0 or -errno. */
int order_send(const struct order_line *l, struct order_head *packet, size_t n, const struct buf *bulk);
/* A packet of n bytes and what came with it, appended; -EPIPE at the end of the talk, -EBADMSG. */
int order_receive(const struct order_line *l, struct order_head *packet, size_t n, struct buf *bulk);

#endif
