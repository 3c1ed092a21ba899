/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake/wakeup: the small rings that wake a reader: at collections, and when threads wait to be stopped. They are read
 * by other threads or processes than the main ring, with which they share nothing.
 */
#ifndef ALYS_INTAKE_WAKEUP_H
#define ALYS_INTAKE_WAKEUP_H

#include "intake/intake.h"

struct wakeup;

/* fn is called with each record as it is in the ring. */
struct wakeup *wakeup_new(int ring_map_fd, void (*fn)(void *ctx, const void *record, size_t size), void *ctx, struct err *err);
void wakeup_free(struct wakeup *b);
/* Readable when records are waiting. */
int wakeup_fd(const struct wakeup *b);
void wakeup_drain(struct wakeup *b);

#endif
