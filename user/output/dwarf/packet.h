/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/packet: the protocol between symbolizer and worker, over a socket that preserves message boundaries
 * (SOCK_SEQPACKET). Numbers are varints, texts are length-prefixed.
 *
 *   symbolizer                   worker
 *   OPEN {what, depth, raw} +fd  ->
 *                                <- WANT {kind, id, name}     any number of times
 *   FILE {} (+fd)                ->
 *                                <- READY {lacks} or FAILED {why}
 *   ASK {n, pc...}               ->
 *                                <- ANSWERS {item...}         as many as it takes
 *
 * lacks is 1 if there is too much debug information. An item is TEXT {bytes}, numbered from 1, or ANSWER {frames, each
 * {quality, inlined, name, file, line, column}} to the next requested address; 0 stands for no text.
 */
#ifndef ALYS_DWARF_PACKET_H
#define ALYS_DWARF_PACKET_H

#include "base/buf.h"

#define PACKET_MAX (1u << 16)
#define PACKET_TEXT_MAX 4096
#define PACKET_ASK_MAX 4096 /* maximum number of addresses */

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

/* passed: a descriptor to send along, or -1. 0 or -errno. */
int packet_send(int sock, const struct buf *packet, int passed);
/*
 * The next packet's size, 0 at end of file, or -errno (-EBADMSG: longer than PACKET_MAX). passed (may be NULL) receives
 * the descriptor sent along, or -1.
 */
int packet_receive(int sock, uint8_t bytes[PACKET_MAX], int *passed);

#endif
