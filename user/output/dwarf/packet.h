/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/packet: what a session and its worker say to each other, over a socket that keeps messages
 * whole (SOCK_SEQPACKET). Numbers are varints, texts have their length in front.
 *
 *   session                      worker
 *   OPEN {what, depth, raw} +fd  ->
 *                                <- WANT {kind, id, name}     any number of times
 *   FILE {} (+fd)                ->
 *                                <- READY {lacks} or FAILED {why}
 *   ASK {n, pc...}               ->
 *                                <- ANSWERS {item...}         as many as it takes
 *
 * lacks is 1 when there is debug information, but too much of it. An item is TEXT {bytes}, which gets the
 * next number from 1 on, or ANSWER {frames, each {quality, inlined, name, file, line, column}} to the next
 * address asked; 0 stands for no text.
 */
#ifndef ALYS_DWARF_PACKET_H
#define ALYS_DWARF_PACKET_H

#include "base/buf.h"

#define PACKET_MAX (1u << 16)
#define PACKET_TEXT_MAX 4096
#define PACKET_ASK_MAX 4096 /* addresses */

enum packet_kind {
	PACKET_OPEN = 1,
	PACKET_FILE = 2,
	PACKET_ASK = 3,
	PACKET_WANT = 10,
	PACKET_READY = 11,
	PACKET_FAILED = 12,
	PACKET_ANSWERS = 13,
};

enum packet_item { PACKET_TEXT = 1, PACKET_ANSWER = 2 };

/* passed: a descriptor to go along, or -1. 0 or -errno. */
int packet_send(int sock, const struct buf *packet, int passed);
/*
 * The next packet's size, 0 at the end of the talk, or -errno (-EBADMSG: longer than PACKET_MAX).
 * passed (may be NULL) gets the descriptor that came along, or -1.
 */
int packet_receive(int sock, uint8_t bytes[PACKET_MAX], int *passed);

#endif
