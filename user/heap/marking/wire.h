/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marking/wire: what a recording and the process that reads heaps for it tell each other of a heap, as bytes: blocks with their
 * marks, recorded objects, what is unknown. The reader may be anybody's by now, so what is taken is checked: whatever it says,
 * nothing is read or written out of bounds.
 */
#ifndef ALYS_MARKING_WIRE_H
#define ALYS_MARKING_WIRE_H

#include "base/buf.h"
#include "base/cursor.h"
#include "boehm/heap.h"
#include "marking/recorded.h"
#include "marking/unknown.h"

/* Without gaps and without what was asked for. */
void wire_put_heap(struct buf *out, const struct boehm_heap *h);
void wire_put_recorded(struct buf *out, const struct recorded *o); /* addresses alone */
void wire_put_unknown(struct buf *out, const struct unknown *u);

/* 0, -EBADMSG or -ENOMEM: then *out is empty. */
int wire_take_heap(struct cursor *c, struct boehm_heap *out);
int wire_take_recorded(struct cursor *c, struct recorded *out);
int wire_take_unknown(struct cursor *c, struct unknown *out);

#endif
