/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake/wakeup: the small rings that call somebody: at collections, and where threads wait to be held. Their readers are
 * others than the main ring's, so they have a door of their own; nothing is shared with that.
 */
#ifndef ALYS_INTAKE_WAKEUP_H
#define ALYS_INTAKE_WAKEUP_H

#include "intake/intake.h"

struct wakeup;

/* fn: of each record, as it is in the ring. */
struct wakeup *wakeup_new(int ring_map_fd, void (*fn)(void *ctx, const void *record, size_t size), void *ctx, struct err *err);
void wakeup_free(struct wakeup *b);
/* Polls readable when there is something to hear. */
int wakeup_fd(const struct wakeup *b);
void wakeup_drain(struct wakeup *b);

#endif
