/* SPDX-License-Identifier: Apache-2.0 */
/* glibc/process: a live process whose malloc is glibc's: which file holds it, its layout, and what that is founded on. */
#ifndef ALYS_GLIBC_PROCESS_H
#define ALYS_GLIBC_PROCESS_H

#include "base/buf.h"
#include "collector/place.h"
#include "glibc/glibc_heap.h"

struct glibc_process {
	struct memory memory;
	struct space space;
	struct place place;
	struct glibc_layout layout;
	struct elf *elf; /* the C library, or the program that it is linked into */
	int fd;
	uint64_t bias;          /* address in the process less address in the file */
	uint64_t dev, ino;      /* of the file */
	char file[256];         /* its path, clean */
	uint64_t proven_blocks; /* blocks of a helper process that were read as the library answers; 0 = not proven */
	struct err doubt;       /* why it is not proven; EILSEQ: proven wrong */
	char others[128];       /* files of other allocators that are mapped, whose blocks are not among these; "" = none */
};

/*
 * 0, then glibc_close; or -ESRCH, -EACCES, -ENOENT (not glibc's malloc), -ENODATA (no malloc yet), -ENOTSUP (layout
 * unknown), with one sentence that names the process. glibc/malloc_proof decides whether to believe it.
 */
int glibc_find(struct glibc_process *p, uint32_t tgid, struct err *err);
void glibc_close(struct glibc_process *p);
/* Appends the names of allocators beside glibc's malloc whose files are mapped: "jemalloc", "musl". */
void glibc_other_allocators(const struct space *s, struct buf *out);
/* Reads its mappings and its heap: see glibc_heap_read; messages name the process. */
int glibc_read(struct glibc_process *p, struct glibc_heap *out, bool still, struct err *err);

#endif
