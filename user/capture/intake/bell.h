/*
 * intake/bell: the small rings that call somebody: at collections, and where threads wait to be held. Their readers are
 * others than the main ring's, so they have a door of their own; nothing is shared with that.
 */
#ifndef ALYS_INTAKE_BELL_H
#define ALYS_INTAKE_BELL_H

#include "intake/intake.h"

struct bell;

/* fn: of each record, as it is in the ring. */
struct bell *bell_new(int ring_map_fd, void (*fn)(void *ctx, const void *record, size_t size), void *ctx, struct err *err);
void bell_free(struct bell *b);
/* Polls readable when there is something to hear. */
int bell_fd(const struct bell *b);
void bell_drain(struct bell *b);

#endif
