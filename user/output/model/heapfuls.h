/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/heapfuls: how certain it is where the heap-fulls of Erlang processes belong. A heap-full counts at the stack
 * that filled the heap, which is a fair sample only if the heap's end falls anywhere in what the process does. A
 * process that does the same again and again may fall into step with its heap: then the same stacks fill it in the same
 * order, and a thousand of them say no more than the first. So heap-fulls are sorted into cases: equal ones have equal
 * stacks and sizes, and so have the HEAPFULS_PAST ones before them in their process, whichever process it is. Of the
 * heap-fulls before a sampled one only the sizes are known, mixed by the recorder. A case is one sample, of all its
 * bytes: their square is its part of the variance. Private to this module.
 */
#ifndef ALYS_MODEL_HEAPFULS_H
#define ALYS_MODEL_HEAPFULS_H

#include "base/map.h"
#include "event/event.h"

#define HEAPFULS_PAST 3

/* A zeroed struct is empty. Its memory is bounded: it forgets the past of processes when there are too many. */
struct heapfuls {
	struct map past; /* Erlang process -> its last heap-fulls, 16 bits each */
	double *cases;   /* bytes, by hash; two cases in one place only make the error larger */
	double unsorted; /* out of memory */
};

void heapfuls_free(struct heapfuls *h);
/* Returns the bytes that the case had before. When out of memory, all are one case. */
double heapfuls_add(struct heapfuls *h, const struct event *e, double bytes);

#endif
