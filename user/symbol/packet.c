/* symbol/packet: see packet.h. */
#include "symbol/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int packet_send(int sock, const struct buf *packet, int passed)
{
	struct iovec part = { .iov_base = packet->data, .iov_len = packet->len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };
	if (packet->failed)
		return -ENOMEM;
	if (passed >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed, sizeof(int));
	}
	ssize_t n;
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Descriptors that nobody asked for would stay open: all but the first wanted one are closed. */
static void take_descriptors(struct msghdr *m, int *passed)
{
	if (passed)
		*passed = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (passed && *passed < 0)
				*passed = fd;
			else
				close(fd);
		}
	}
}

int packet_receive(int sock, uint8_t bytes[PACKET_MAX], int *passed)
{
	struct iovec part = { .iov_base = bytes, .iov_len = PACKET_MAX };
	union control control;
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_descriptors(&m, passed);
	return m.msg_flags & MSG_TRUNC ? -EBADMSG : (int)n;
}
