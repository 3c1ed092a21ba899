/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf/packet: see packet.h. */
#include "dwarf/packet.h"

#include <errno.h>

#include "access/handover.h"

int packet_send(int sock, const struct buf *packet, int passed)
{
	return packet->failed ? -ENOMEM : handover_send(sock, packet->data, packet->len, passed, 0);
}

int packet_receive(int sock, uint8_t bytes[PACKET_MAX], int *passed)
{
	return (int)handover_receive(sock, bytes, PACKET_MAX, passed);
}
