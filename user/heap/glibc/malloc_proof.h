/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc/malloc_proof: verifies that malloc's heap is read right. A helper process (helper/mallocfill.h) uses the same
 * library and reports what it says about its blocks; this is compared with our reading of the helper's memory.
 */
#ifndef ALYS_GLIBC_MALLOC_PROOF_H
#define ALYS_GLIBC_MALLOC_PROOF_H

#include "base/buf.h"
#include "glibc/process.h"

/* Fills in p->proven_blocks or p->doubt. -ENOTSUP: proven wrong. */
int glibc_prove(struct glibc_process *p, struct err *err);
/* "proven: ...", "not proven: why": a clean sentence without its end. */
void glibc_proof_text(const struct glibc_process *p, struct buf *out);

#endif
