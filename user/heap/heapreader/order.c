/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/order: see order.h. */
#include "heapreader/order.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/handover.h"
#include "access/outfile.h"

#define BULK_MAX (1ll << 30) /* enough for the blocks and marks of a heap of tens of gigabytes */

static int file_of(const struct buf *bulk)
{
	int fd = memfd_create("heap", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = bulk->failed ? -ENOMEM : outfile_write(fd, bulk->data, bulk->len);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int order_send(int sock, const void *packet, size_t n, const struct buf *bulk)
{
	int fd = bulk && (bulk->len || bulk->failed) ? file_of(bulk) : -1;
	if (fd < -1)
		return fd;
	int rc = handover_send(sock, packet, n, fd, 0);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The sender may still change the file: only what was read counts, and the receiver checks it. */
static int read_file(int fd, struct buf *out)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > BULK_MAX)
		return -EBADMSG;
	uint8_t *room = buf_room(out, (size_t)st.st_size);
	if (!room)
		return -ENOMEM;
	for (off_t at = 0; at < st.st_size;) {
		ssize_t got = pread(fd, room + at, (size_t)(st.st_size - at), at);
		if (got <= 0)
			return -EBADMSG;
		at += got;
	}
	out->len += (size_t)st.st_size;
	return 0;
}

int order_receive(int sock, void *packet, size_t n, struct buf *bulk)
{
	int fd;
	ssize_t got = handover_receive(sock, packet, n, &fd);
	int rc = got == (ssize_t)n ? 0 : got <= 0 ? -EPIPE : -EBADMSG;
	if (!rc && fd >= 0)
		rc = read_file(fd, bulk);
	if (fd >= 0)
		close(fd);
	return rc;
}
