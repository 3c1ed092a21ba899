/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/order: see order.h. */
#include "heapreader/order.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "access/handover.h"

#define BULK_MAX (1ull << 30) /* enough for the blocks and marks of a heap of tens of gigabytes */

int order_lines(struct order_line ends[2])
{
	int pair[2], file = memfd_create("heap", MFD_CLOEXEC);
	if (file < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		int rc = -errno;
		close(file);
		return rc;
	}
	ends[0] = (struct order_line){ pair[0], file };
	ends[1] = (struct order_line){ pair[1], file };
	return 0;
}

void order_line_close(const struct order_line *l)
{
	close(l->sock);
	close(l->file);
}

static int put_bulk(int file, const struct buf *bulk)
{
	if (bulk->failed)
		return -ENOMEM;
	for (size_t at = 0; at < bulk->len;) {
		ssize_t put = pwrite(file, bulk->data + at, bulk->len - at, (off_t)at);
		if (put <= 0)
			return put ? -errno : -ENOSPC;
		at += (size_t)put;
	}
	return 0;
}

int order_send(const struct order_line *l, struct order_head *packet, size_t n, const struct buf *bulk)
{
	int rc = put_bulk(l->file, bulk);
	packet->bulk = bulk->len;
	return rc ?: handover_send(l->sock, packet, n, -1, 0);
}

/*
 * The other one may still change the file, or its size: only what was read counts, and the receiver checks it. It is never
 * mapped, so no change can end this process.
 */
static int take_bulk(int file, uint64_t len, struct buf *out)
{
	uint8_t *room = len <= BULK_MAX ? buf_room(out, len) : NULL;
	if (!room)
		return len <= BULK_MAX ? -ENOMEM : -EBADMSG;
	for (uint64_t at = 0; at < len;) {
		ssize_t got = pread(file, room + at, len - at, (off_t)at);
		if (got <= 0)
			return -EBADMSG;
		at += (uint64_t)got;
	}
	out->len += len;
	return len > ORDER_KEPT_MAX && ftruncate(file, 0) ? -errno : 0;
}

int order_receive(const struct order_line *l, struct order_head *packet, size_t n, struct buf *bulk)
{
	ssize_t got = handover_receive(l->sock, packet, n, NULL);
	int rc = got == (ssize_t)n ? 0 : got <= 0 ? -EPIPE : -EBADMSG;
	return rc || !packet->bulk ? rc : take_bulk(l->file, packet->bulk, bulk);
}
