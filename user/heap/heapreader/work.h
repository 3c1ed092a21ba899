/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/work: what a heap reader does, in whatever process it is; see heapreader.h. */
#ifndef ALYS_HEAPREADER_WORK_H
#define ALYS_HEAPREADER_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "boehm/heap.h"
#include "collector/prove.h"
#include "heapgraph/types.h"
#include "marking/recorded.h"
#include "marking/unknown.h"

/* Where a process has its collector. */
struct heapreader_place {
	uint32_t tgid, through; /* through: as of struct memory */
	uint64_t dev, ino;      /* of the file that has it */
	struct layout layout;
	struct own_places own;
};

struct heapreader_proof {
	bool typed;               /* all that the program says about its types is known */
	bool crystal;             /* its program is Crystal's; else it has no types */
	struct types types;       /* then types_free */
	struct calibration proof; /* of its layout, as of struct collector */
};

struct heapreader_question {
	const struct buf *copy; /* takes the place of the process, NULL = none */
	const struct boehm_heap *heap;
	const struct recorded *recorded;
	uint64_t most; /* of bytes read */
};

/* Of the processes whose marks were read last: slot tgid % WORK_AHEAD. Zeroed: none yet. */
#define WORK_AHEAD 8
struct work_ahead {
	struct memory_ahead of[WORK_AHEAD];
};

void work_ahead_free(struct work_ahead *a);

int work_find(uint32_t tgid, struct heapreader_place *out, struct err *err);
/* known: how the proof came out, in out->why; 0 or -ENOTSUP is not to be found out again. */
int work_prove(uint32_t tgid, bool known, struct heapreader_proof *out, struct err *err);
int work_heap(const struct heapreader_place *p, struct boehm_heap *out, struct err *err);
/* ahead: of readings of these processes; used when only some objects are asked for. */
int work_marks(const struct heapreader_place *p, uint64_t *asked, size_t cnt, struct work_ahead *ahead, struct boehm_heap *out,
	       struct err *err);
int work_copy(const struct heapreader_place *p, const struct boehm_heap *h, size_t max, struct buf *out);
int work_count(const struct heapreader_place *p, uint64_t *gc_no);
int work_compare(const struct heapreader_place *p, const struct heapreader_question *q, struct unknown *out);

#endif
