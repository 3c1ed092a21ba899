/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapreader/order: what goes between a recording and its heap reader: a packet in each direction, and with it what has
 * no bound, as a file in memory.
 */
#ifndef ALYS_HEAPREADER_ORDER_H
#define ALYS_HEAPREADER_ORDER_H

#include "heapreader/work.h"

enum order_kind { ORDER_FIND = 1, ORDER_PROVE, ORDER_HEAP, ORDER_COPY, ORDER_COUNT, ORDER_COMPARE };

struct order {
	uint32_t kind;
	uint32_t some;                 /* heap: of the addresses that come along alone; prove: the proof is known */
	struct heapreader_place place; /* find, prove: its tgid */
	uint64_t most;                 /* bytes: compare, copy */
	uint64_t copy_len;             /* compare: of what comes along, behind the rest; 0 = none */
};

struct order_reply {
	int32_t rc;
	uint8_t typed, crystal;
	uint64_t gc_no, spent_ns;
	struct heapreader_place place;
	struct calibration proof;
	struct err err;
};

/* bulk NULL or empty: nothing goes along. 0 or -errno. */
int order_send(int sock, const void *packet, size_t n, const struct buf *bulk);
/* A packet of n bytes and what came with it, appended; -EPIPE at the end of the talk, -EBADMSG. */
int order_receive(int sock, void *packet, size_t n, struct buf *bulk);

#endif
