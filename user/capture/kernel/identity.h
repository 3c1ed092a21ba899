/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/identity: which files are one and the same to the kernel's probes, which sit on what a file system stores. */
#ifndef ALYS_KERNEL_IDENTITY_H
#define ALYS_KERNEL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A file, as fstat tells it; zeros when it cannot. */
struct probe_file {
	uint64_t dev, ino;
	uint64_t stored; /* what it is where it is stored, whichever way leads there; 0 = not known */
	uint64_t looks;  /* what an overlay shows of the file as it is stored */
	bool overlay;    /* it is stored elsewhere */
};
struct probe_file probe_file_of(int fd);
/* Probes of one sit on the other, too; or may, where a file system does not say what an overlay shows. */
bool probe_file_same(struct probe_file a, struct probe_file b);

#endif
