/*
 * intake/bell: the small ring that rings at collections. Its reader is another thread than the main
 * ring's, so it has a door of its own; nothing is shared between the two.
 */
#ifndef ALYS_INTAKE_BELL_H
#define ALYS_INTAKE_BELL_H

#include "intake/intake.h"

struct bell;

/* fn: a collection began (over = false) or is over. */
struct bell *bell_new(int ring_map_fd, void (*fn)(void *ctx, const struct intake_collection *c, bool over), void *ctx,
		      struct err *err);
void bell_free(struct bell *b);
/* Polls readable when there is something to hear. */
int bell_fd(const struct bell *b);
void bell_drain(struct bell *b);

#endif
