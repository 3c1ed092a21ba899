/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc/classes: blocks in use by C++ class, or by size where they are no objects. The first word of an object that has
 * virtual functions leads to its class: by RTTI behind the vtable, which stripped programs have too, or else by the symbol
 * of the vtable.
 */
#ifndef ALYS_GLIBC_CLASSES_H
#define ALYS_GLIBC_CLASSES_H

#include "base/buf.h"
#include "glibc/malloc_chunks.h"

enum class_known { CLASS_NONE, CLASS_BY_RTTI, CLASS_BY_SYMBOL };

struct glibc_class {
	uint64_t vtable; /* where objects of it point to; 0: blocks of one size class */
	uint64_t size;   /* then: see glibc_size_class */
	bool mapped;     /* then: in mappings of their own */
	uint64_t cnt, bytes;
	enum class_known known;
	char *name; /* of a class, clean */
};

struct glibc_classes {
	struct glibc_class *all;
	size_t all_cnt, all_cap;
	uint64_t cnt, bytes;
};

/* Reads what vtables say from the process; the heap may be older. -ENOMEM, -ESRCH, -EPERM. Then glibc_classes_free. */
int glibc_classes_take(struct memory *m, const struct space *s, const struct glibc_heap *h, struct glibc_classes *out);
/* The same, and each block goes to fn with the index of its class in out->all, whose sums are not complete yet. */
typedef int (*glibc_block_fn)(void *ctx, uint64_t addr, uint64_t bytes, size_t class);
int glibc_classes_each(struct memory *m, const struct space *s, const struct glibc_heap *h, glibc_block_fn fn, void *ctx,
		       struct glibc_classes *out);
/* "Shape", "(24 bytes)", "(mmapped, 128 to 256 KiB)". */
void glibc_class_text(const struct glibc_class *c, struct buf *out);
void glibc_classes_free(struct glibc_classes *c);

#endif
