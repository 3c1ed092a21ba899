/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapreader: the heaps of recorded processes, and the files of their collectors, are read by a process without rights, whose
 * broker is the recording. In: orders. Out: blocks with their marks, what is unknown, names of types: checked before they are
 * used. A recording that has given up its rights itself reads in its own process.
 *
 *   recording: the rights, records, judges <--orders--> heap reader: memory, maps and files of one process at a time
 *              broker                      <--requests--
 */
#ifndef ALYS_HEAPREADER_H
#define ALYS_HEAPREADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "heapreader/work.h"

struct heapreader;

/* realtime: for the reader of marks, which must not queue behind the threads that made them. */
struct heapreader *heapreader_new(bool realtime, struct err *err);
void heapreader_free(struct heapreader *r);

/*
 * All of the below: one thread at a time. -ECONNRESET: the reader did not survive it, or did not come back; the next call
 * begins another one.
 */

/* As collector_find. */
int heapreader_find(struct heapreader *r, uint32_t tgid, struct heapreader_place *out, struct err *err);
/* As collector_prove and collector_types; what was proven for a file is true for all processes of one user. */
int heapreader_prove(struct heapreader *r, const struct heapreader_place *p, struct heapreader_proof *out, struct err *err);
/* As boehm_heap_read_now. */
int heapreader_heap(struct heapreader *r, const struct heapreader_place *p, struct boehm_heap *out, struct err *err);
/* As boehm_heap_read_marks. */
int heapreader_marks(struct heapreader *r, const struct heapreader_place *p, uint64_t *asked, size_t cnt, struct boehm_heap *out,
		     struct err *err);
/*
 * What the objects of h, the heap that was read last, hold now, for heapreader_compare; nothing when that is more than
 * max bytes.
 */
int heapreader_copy(struct heapreader *r, const struct heapreader_place *p, const struct boehm_heap *h, size_t max,
		    struct buf *out);
/* As boehm_gc_no. */
int heapreader_count(struct heapreader *r, const struct heapreader_place *p, uint64_t *gc_no);

/* As unknown_find. *spent_ns: what it took of the processor elsewhere. */
int heapreader_compare(struct heapreader *r, const struct heapreader_place *p, const struct heapreader_question *q,
		       struct unknown *out, uint64_t *spent_ns);

/* How much is known of its layout, for people. */
void heapreader_proof_text(const struct heapreader_proof *p, struct buf *out);

#endif
