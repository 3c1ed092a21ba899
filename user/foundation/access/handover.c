/* SPDX-License-Identifier: Apache-2.0 */
/* access/handover: see handover.h. */
#include "access/handover.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int handover_send(int sock, const void *bytes, size_t n, int fd, int flags)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (sendmsg(sock, &m, flags | MSG_NOSIGNAL) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Unexpected descriptors are closed, or they would stay open. */
static void take_descriptors(struct msghdr *m, int *wanted)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (wanted && *wanted < 0)
				*wanted = fd;
			else
				close(fd);
		}
	}
}

ssize_t handover_receive(int sock, void *bytes, size_t cap, int *fd)
{
	struct iovec part = { .iov_base = bytes, .iov_len = cap };
	union control control;
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t n;
	if (fd)
		*fd = -1;
	while ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return -errno;
	take_descriptors(&m, m.msg_flags & MSG_TRUNC ? NULL : fd);
	return m.msg_flags & MSG_TRUNC ? -EBADMSG : n;
}
