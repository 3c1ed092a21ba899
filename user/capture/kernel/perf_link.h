/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/perf_link: a uprobe as a perf event, for kernels without multi links. */
#ifndef ALYS_KERNEL_PERF_LINK_H
#define ALYS_KERNEL_PERF_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct perf_site {
	int prog_fd, file_fd;
	uint32_t tgid; /* 0 = all */
	bool at_return;
	uint64_t offset, cookie;
	uint64_t counter; /* file offset of the word that the kernel raises while the link is open, 0 = none */
};

/* A descriptor, now owned by the caller: the last one detaches; or -errno. */
int perf_link_open(const struct perf_site *s);

#endif
