/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/probe_file: which files are the same inode to the kernel's probes; these belong to the underlying file system.
 */
#ifndef ALYS_KERNEL_PROBE_FILE_H
#define ALYS_KERNEL_PROBE_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A file as fstat describes it; zeros if that fails. */
struct probe_file {
	uint64_t dev, ino;
	uint64_t stored;          /* inode in the underlying file system, whichever path leads to it; 0 = unknown */
	uint64_t attributes_hash; /* attributes by which an overlay shows the underlying file */
	bool overlay;             /* it is stored in another file system */
};
struct probe_file probe_file_of(int fd);
/*
 * Do probes on one also fire in the other? Also true if they might, when a file system does not reveal what an overlay
 * shows.
 */
bool probe_file_same(struct probe_file a, struct probe_file b);
/* Of files that are the same: is that known, or do they only look alike? */
bool probe_file_is_certain(struct probe_file a, struct probe_file b);

#endif
