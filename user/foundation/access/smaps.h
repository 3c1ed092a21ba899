/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access/smaps: memory that processes use (PSS: a shared page counts in proportion). Mapped BPF maps are left out: the
 * kernel accounts for each of them once.
 */
#ifndef ALYS_ACCESS_SMAPS_H
#define ALYS_ACCESS_SMAPS_H

#include <stdbool.h>
#include <stdint.h>

struct smaps_part { /* a mapping, in bytes */
	uint64_t start, end, ino;
	uint64_t resident, anonymous, swapped; /* anonymous: of a file's mapping, pages that were written to */
	uint64_t huge;                         /* of the anonymous ones, in transparent huge pages */
	bool shared;
	const char *path; /* borrowed until the next one; "" = none */
};

/* Reads /proc/PID/smaps, and closes it. A non-zero result of fn stops and is returned; -errno. */
int smaps_each(int fd, int (*fn)(void *ctx, const struct smaps_part *p), void *ctx);
/* Bytes used by a process and all its descendants; RSS for those whose smaps cannot be read. */
uint64_t smaps_of_family(uint32_t pid);

#endif
